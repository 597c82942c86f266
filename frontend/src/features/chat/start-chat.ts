import { takeAttachments, uploadWaiting } from "@/features/chat/attachments/uploads";
import { openChat, sendMessage } from "@/features/chat/chat-controller";
import { createSession, type SessionSettings, type SessionSummary } from "@/shared/api/rest";
import { useAppStore } from "@/shared/store/app-store";
import { draftKey } from "@/shared/store/drafts-slice";

const key = draftKey(null);

/** A session made for a message that could not be sent yet, for the next attempt to use. */
let prepared: { readonly session: SessionSummary; readonly settings: string } | null = null;

async function prepare(settings: SessionSettings): Promise<SessionSummary> {
  const wanted = JSON.stringify(settings);
  if (prepared?.settings !== wanted) prepared = { session: await createSession(settings), settings: wanted };
  return prepared.session;
}

/**
 * Makes a session, uploads the files of the new conversation to it, opens it and sends its first message. Returns
 * its id, or null when a file could not be uploaded: the composer then shows which and why.
 *
 * @throws {ApiError} the session could not be made.
 */
export async function startChat(text: string, settings: SessionSettings): Promise<string | null> {
  const session = await prepare(settings);
  await uploadWaiting(key, session.id);
  const { drafts, putSession, setDraftText } = useAppStore.getState();
  if (drafts[key]?.uploads.some(({ state }) => state !== "ready")) return null;
  prepared = null;
  const attachments = takeAttachments(key);
  setDraftText(key, "");
  putSession(session);
  openChat(session.id);
  sendMessage({ text, attachments });
  return session.id;
}
