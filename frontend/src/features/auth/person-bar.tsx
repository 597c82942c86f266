import { LogOut, Settings2 } from "lucide-react";
import { useTranslation } from "react-i18next";

import { includesRole } from "@/shared/lib/roles";
import { adminPath } from "@/shared/lib/router";
import { useAppStore } from "@/shared/store/app-store";
import { IconButton } from "@/shared/ui/icon-button";
import { Link } from "@/shared/ui/link";
import { ThemeSwitch } from "@/shared/ui/theme-switch";

type PersonBarProps = {
  /** Called when a link was followed. */
  readonly onChoose: () => void;
  readonly onSignOut: () => void;
};

/** Foot of the sidebar: who is signed in, the way to their account and the administration, and the way out. */
export function PersonBar({ onChoose, onSignOut }: PersonBarProps) {
  const { t } = useTranslation();
  const name = useAppStore((state) => state.me?.username ?? "");
  const role = useAppStore((state) => state.me?.role ?? "user");
  return (
    <div className="flex items-center gap-2 border-t border-line px-3 py-2.5">
      <Link
        to="/account"
        title={t("account.title")}
        aria-label={t("signIn.signedInAs", { name })}
        onClick={onChoose}
        className="flex min-w-0 flex-1 rounded-lg hover:bg-hover"
      >
        <span className="min-w-0 flex-1 truncate px-1.5 py-1 text-sm font-medium">{name}</span>
      </Link>
      {includesRole(role, "operator") && (
        <Link
          to={adminPath(includesRole(role, "admin") ? "users" : "plugins")}
          title={t("admin.title")}
          aria-label={t("admin.title")}
          onClick={onChoose}
          className="inline-grid size-8 shrink-0 place-items-center rounded-lg text-ink-faint hover:bg-hover hover:text-ink"
        >
          <Settings2 size={15} aria-hidden />
        </Link>
      )}
      <ThemeSwitch />
      <IconButton label={t("signIn.signOut")} onClick={onSignOut}>
        <LogOut size={15} aria-hidden />
      </IconButton>
    </div>
  );
}
