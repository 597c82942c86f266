import { Keyboard, X } from "lucide-react";
import { useTranslation } from "react-i18next";

import { PersonBar } from "@/features/auth/person-bar";
import { leave } from "@/features/auth/session-keeper";
import { SessionList } from "@/features/sessions/session-list";
import { IconButton } from "@/shared/ui/icon-button";
import { Logo } from "@/shared/ui/logo";

type SidebarProps = {
  readonly currentId: string | null;
  readonly onChoose: () => void;
  readonly onHelp: () => void;
  /** Closes the drawer; without it the sidebar is always there. */
  readonly onClose?: () => void;
};

export function Sidebar({ currentId, onChoose, onHelp, onClose }: SidebarProps) {
  const { t } = useTranslation();
  return (
    <div className="flex h-full flex-col pb-[env(safe-area-inset-bottom)]">
      <div className="flex h-14 shrink-0 items-center gap-2.5 px-4">
        <Logo size={22} />
        <span className="flex-1 truncate font-semibold tracking-[-0.01em]">{t("app.name")}</span>
        <IconButton label={t("shortcuts.open")} className="touch:hidden" onClick={onHelp}>
          <Keyboard size={15} aria-hidden />
        </IconButton>
        {onClose && (
          <IconButton label={t("sessions.close")} onClick={onClose}>
            <X size={17} aria-hidden />
          </IconButton>
        )}
      </div>
      <SessionList currentId={currentId} onChoose={onChoose} />
      <PersonBar onChoose={onChoose} onSignOut={() => void leave()} />
    </div>
  );
}
