import { LogOut } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useAppStore } from "@/shared/store/app-store";
import { IconButton } from "@/shared/ui/icon-button";
import { ThemeSwitch } from "@/shared/ui/theme-switch";

/** Foot of the sidebar: who is signed in, the theme, and the way out. */
export function PersonBar({ onSignOut }: { readonly onSignOut: () => void }) {
  const { t } = useTranslation();
  const name = useAppStore((state) => state.me?.username ?? "");
  return (
    <div className="flex items-center gap-2 border-t border-line px-3 py-2.5">
      <span
        aria-hidden
        className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-wash text-xs font-semibold text-accent uppercase"
      >
        {name.slice(0, 1)}
      </span>
      <span className="min-w-0 flex-1 truncate text-sm" aria-label={t("signIn.signedInAs", { name })}>
        {name}
      </span>
      <ThemeSwitch />
      <IconButton label={t("signIn.signOut")} onClick={onSignOut}>
        <LogOut size={15} aria-hidden />
      </IconButton>
    </div>
  );
}
