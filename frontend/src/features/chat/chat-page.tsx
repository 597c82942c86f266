import { useEffect } from "react";
import { useTranslation } from "react-i18next";

import { DropZone } from "@/features/chat/attachments/drop-zone";
import { closeChat, noteTyping, openChat, sendMessage, stopTurn } from "@/features/chat/chat-controller";
import { Composer } from "@/features/chat/composer/composer";
import { InputExtensions } from "@/features/chat/composer/input-extensions";
import { ConnectionBanner } from "@/features/chat/connection-banner";
import { SessionControls } from "@/features/chat/settings/session-controls";
import { MessageList } from "@/features/chat/transcript/message-list";
import { useEscapeToStop } from "@/features/chat/use-escape-to-stop";
import { usePluginActions } from "@/shared/plugin-ui/use-plugin-actions";
import { useAppStore } from "@/shared/store/app-store";
import { useTranscript } from "@/shared/store/use-transcript";
import { isRunning } from "@/shared/tape/transcript";
import { Link } from "@/shared/ui/link";

/** One conversation. Give it the session's id as `key`: another session is another page. */
export function ChatPage({ sessionId }: { readonly sessionId: string }) {
  const isConnected = useAppStore((state) => state.connection.phase === "open");
  const reason = useAppStore((state) => state.connection.reason);
  const running = useTranscript(isRunning);
  const hasContent = useAppStore(
    (state) =>
      state.sessionId === sessionId &&
      (state.loaded[sessionId] === true || (state.transcripts[sessionId]?.turnIds.length ?? 0) > 0),
  );
  const hasOutgoing = useAppStore((state) => state.outbox.length > 0);

  useEffect(() => {
    openChat(sessionId);
    return closeChat;
  }, [sessionId]);
  useEscapeToStop(running);
  usePluginActions(sessionId, sendText);

  if (reason === "not_found" || reason === "forbidden") return <NoSession reason={reason} />;
  return (
    <DropZone sessionId={sessionId}>
      <ConnectionBanner />
      {hasContent || hasOutgoing ? <MessageList /> : <LoadingList />}
      <Composer
        sessionId={sessionId}
        isRunning={running}
        canStop={isConnected}
        controls={<SessionControls sessionId={sessionId} />}
        extensions={<InputExtensions />}
        onSend={sendMessage}
        onStop={stopTurn}
        onTyping={noteTyping}
      />
    </DropZone>
  );
}

const sendText = (text: string) => sendMessage({ text, attachments: [] });

function LoadingList() {
  const { t } = useTranslation();
  return (
    <div role="status" className="grid flex-1 place-items-center text-sm text-ink-faint">
      {t("chat.loading")}
    </div>
  );
}

function NoSession({ reason }: { readonly reason: "not_found" | "forbidden" }) {
  const { t } = useTranslation();
  return (
    <div className="grid flex-1 place-items-center p-8 text-center">
      <div className="space-y-4">
        <p>{reason === "not_found" ? t("chat.notFound") : t("chat.forbidden")}</p>
        <Link
          to="/"
          className="inline-flex h-10 items-center rounded-lg bg-accent px-4 font-medium text-accent-ink hover:bg-accent-hover"
        >
          {t("chat.startNew")}
        </Link>
      </div>
    </div>
  );
}
