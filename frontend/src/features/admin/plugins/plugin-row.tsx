import { ChevronRight } from "lucide-react";
import { useId } from "react";
import { useTranslation } from "react-i18next";

import { PluginDetail } from "@/features/admin/plugins/plugin-detail";
import { PluginStatus } from "@/features/admin/plugins/plugin-status";
import type { Plugin } from "@/shared/api/plugins";
import { cn } from "@/shared/lib/class-names";

type PluginRowProps = {
  readonly plugin: Plugin;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
  readonly onChanged: () => void;
};

/** A plugin in the list: what it is in one line, and everything about it when it is opened. */
export function PluginRow({ plugin, isOpen, onToggle, onChanged }: PluginRowProps) {
  const { t } = useTranslation();
  const id = useId();
  const { name, version, active_version, has_update, description, format, status, last_error } = plugin;
  return (
    <li aria-label={name}>
      <h3>
        <button
          type="button"
          aria-expanded={isOpen}
          aria-controls={id}
          onClick={onToggle}
          className="flex w-full items-start gap-3 px-4 py-3 text-left hover:bg-hover"
        >
          <ChevronRight
            size={16}
            aria-hidden
            className={cn("mt-0.5 shrink-0 text-ink-faint transition-transform", isOpen && "rotate-90")}
          />
          <span className="min-w-0 flex-1">
            <span className="flex flex-wrap items-baseline gap-x-2.5 gap-y-1">
              <span className="font-medium break-words">{name}</span>
              <span className="text-xs text-ink-faint tabular-nums">{active_version ?? version}</span>
              <PluginStatus status={status} />
              {has_update && active_version !== null && (
                <span className="rounded-full bg-accent-wash px-2 py-0.5 text-xs font-medium text-accent">
                  {t("admin.plugins.update", { version })}
                </span>
              )}
            </span>
            {description !== "" && (
              <span className="block text-sm break-words text-ink-soft">{description}</span>
            )}
            {last_error !== null && <span className="block text-sm break-words text-red">{last_error}</span>}
          </span>
          <span className="shrink-0 text-xs text-ink-faint max-sm:hidden">
            {t(`admin.plugins.format.${format ?? "unreadable"}`)}
          </span>
        </button>
      </h3>
      <div id={id}>{isOpen && <PluginDetail plugin={plugin} onChanged={onChanged} />}</div>
    </li>
  );
}
