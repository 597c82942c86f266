import { useTranslation } from "react-i18next";

import type { GivenLink } from "@/features/admin/users-tab";
import { formatTime } from "@/shared/lib/format";
import { Button } from "@/shared/ui/button";
import { CopyButton } from "@/shared/ui/copy-button";
import { Dialog } from "@/shared/ui/dialog";

type LinkDialogProps = { readonly given: GivenLink; readonly onClose: () => void };

/** Shows a link with which somebody chooses a password. It is shown once. */
export function LinkDialog({ given, onClose }: LinkDialogProps) {
  const { t } = useTranslation();
  const { username, link } = given;
  return (
    <Dialog title={t("admin.link.title", { name: username })} onClose={onClose}>
      <p className="-mt-2 text-ink-soft">{t("admin.link.text", { time: formatTime(link.expires_at) })}</p>
      <div className="flex items-center gap-2 rounded-lg border border-line bg-sunken p-2 pl-3">
        <code data-testid="password-link" className="min-w-0 flex-1 text-xs break-all">
          {link.url}
        </code>
        <CopyButton text={link.url} label={t("admin.link.copy")} />
      </div>
      <div className="flex justify-end">
        <Button onClick={onClose}>{t("admin.link.close")}</Button>
      </div>
    </Dialog>
  );
}
