import {
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleX,
  FolderX,
  TriangleAlert,
  type LucideIcon,
} from "lucide-react";
import { useTranslation } from "react-i18next";

import type { Plugin } from "@/shared/api/plugins";
import { cn } from "@/shared/lib/class-names";

type Status = Plugin["status"];

const looks: Readonly<Record<Status, readonly [LucideIcon, string]>> = {
  registered: [CircleDashed, "text-ink-faint"],
  active: [CircleCheck, "text-green"],
  disabled: [CirclePause, "text-ink-faint"],
  degraded: [TriangleAlert, "text-amber"],
  errored: [CircleX, "text-red"],
  inactive: [FolderX, "text-ink-faint"],
};

/** A word and a shape: not colour alone. */
export function PluginStatus({ status }: { readonly status: Status }) {
  const { t } = useTranslation();
  const [Icon, colour] = looks[status];
  return (
    <span className={cn("inline-flex shrink-0 items-center gap-1.5 text-xs font-medium", colour)}>
      <Icon size={14} aria-hidden />
      {t(`admin.plugins.status.${status}`)}
    </span>
  );
}
