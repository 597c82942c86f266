import { PanelLeft } from "lucide-react";
import { lazy, Suspense, useEffect, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { NoticeToast } from "@/app/notice-toast";
import { ShortcutsDialog } from "@/app/shortcuts-dialog";
import { Sidebar } from "@/app/sidebar";
import { usePageTitle } from "@/app/use-page-title";
import { useShortcuts } from "@/app/use-shortcuts";
import { ChatHeader } from "@/features/chat/chat-header";
import { ChatPage } from "@/features/chat/chat-page";
import { composerId } from "@/features/chat/composer/composer";
import { NewChatPage } from "@/features/chat/new-chat-page";
import { SidePanel } from "@/features/chat/side-panel/side-panel";
import { useMediaQuery } from "@/shared/hooks/use-media-query";
import type { Route } from "@/shared/lib/router";
import { followPluginUi } from "@/shared/plugin-ui/plugin-ui-list";
import { useAppStore } from "@/shared/store/app-store";
import { IconButton } from "@/shared/ui/icon-button";
import { Modal } from "@/shared/ui/modal";

const AdminPage = lazy(() =>
  import("@/features/admin/admin-page").then((module) => ({ default: module.AdminPage })),
);
const AccountPage = lazy(() =>
  import("@/features/account/account-page").then((module) => ({ default: module.AccountPage })),
);

/** Everything a signed-in person sees: sessions on the side, one conversation in the middle. */
export function Workspace({ route }: { readonly route: Route }) {
  const { t } = useTranslation();
  const sessionId = route.name === "session" ? route.id : null;
  const isDrawerOpen = useAppStore((state) => state.isDrawerOpen);
  const setDrawerOpen = useAppStore((state) => state.setDrawerOpen);
  const isWide = useMediaQuery("(width >= 64rem)");
  const [isHelpOpen, setIsHelpOpen] = useState(false);
  usePageTitle(sessionId);
  useShortcuts({ onHelp: () => setIsHelpOpen(true) });

  useEffect(() => followPluginUi(), []);

  // The first answer will need it; fetch it while the person still types.
  useEffect(() => void import("@/features/chat/markdown/markdown").catch(() => undefined), []);

  const closeDrawer = () => setDrawerOpen(false);
  const openHelp = () => {
    closeDrawer();
    setIsHelpOpen(true);
  };

  return (
    <div className="flex h-full">
      <a
        href={`#${composerId}`}
        className="sr-only bg-accent text-accent-ink focus:not-sr-only focus:absolute focus:z-10 focus:m-2 focus:rounded-lg focus:px-3 focus:py-2"
      >
        {t("app.skipToComposer")}
      </a>
      {isWide && (
        <aside className="w-[17rem] shrink-0 border-r border-line">
          <Sidebar currentId={sessionId} onChoose={closeDrawer} onHelp={openHelp} />
        </aside>
      )}
      {!isWide && isDrawerOpen && (
        <Modal
          labelledBy="drawer-title"
          onClose={closeDrawer}
          className="m-0 h-dvh max-h-none w-[min(20rem,86vw)] border-r border-line bg-canvas p-0 shadow-raised lg:hidden"
        >
          <h2 id="drawer-title" className="sr-only">
            {t("sessions.heading")}
          </h2>
          <Sidebar currentId={sessionId} onChoose={closeDrawer} onHelp={openHelp} onClose={closeDrawer} />
        </Modal>
      )}
      <main className="flex min-w-0 flex-1 flex-col">
        <Suspense fallback={null}>
          <Page
            route={route}
            start={
              <IconButton
                label={t("sessions.open")}
                className="lg:hidden"
                onClick={() => setDrawerOpen(true)}
              >
                <PanelLeft size={18} aria-hidden />
              </IconButton>
            }
          />
        </Suspense>
      </main>
      {(sessionId !== null || route.name === "new_chat") && <SidePanel />}
      {isHelpOpen && <ShortcutsDialog onClose={() => setIsHelpOpen(false)} />}
      <NoticeToast />
    </div>
  );
}

type PageProps = {
  readonly route: Route;
  /** What opens the session list on narrow screens. */
  readonly start: ReactNode;
};

function Page({ route, start }: PageProps) {
  switch (route.name) {
    case "admin":
      return <AdminPage tab={route.tab} start={start} />;
    case "account":
      return <AccountPage start={start} />;
    case "session":
      return (
        <>
          <ChatHeader sessionId={route.id} start={start} />
          <ChatPage key={route.id} sessionId={route.id} />
        </>
      );
    default:
      return (
        <>
          <ChatHeader sessionId={null} start={start} />
          <NewChatPage />
        </>
      );
  }
}
