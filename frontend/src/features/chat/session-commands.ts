import { giveCommand, runCommand, sendMessage, switchPlugin } from "@/features/chat/chat-controller";
import { CommandError } from "@/features/chat/pending-commands";
import type { SetPermissionModeCommand } from "@/shared/api/frames.gen";
import { fetchSession } from "@/shared/api/rest";
import type { MessageContent } from "@/shared/connection/outbox";
import { i18n } from "@/shared/i18n/i18n";
import { navigate, sessionPath } from "@/shared/lib/router";
import { useAppStore } from "@/shared/store/app-store";
import { draftKey } from "@/shared/store/drafts-slice";
import type { SessionCommand } from "@/shared/tape/frame";

export type PermissionMode = SetPermissionModeCommand["permission_mode"];

const notify = (text: string) => useAppStore.getState().notify(text);

/** What to tell a person about a command that was not carried out. */
export function explainRefusal(error: unknown): string {
  if (error instanceof CommandError) return error.isLost ? i18n.t("command.lost") : error.message;
  return error instanceof Error ? error.message : String(error);
}

function give(command: SessionCommand): void {
  if (!giveCommand(command)) notify(i18n.t("command.lost"));
}

/** Starts the agent process now, so that the next message need not wait for it. */
export const wakeSession = () => give({ command: "resume" });

export const setModel = (model: string) => give({ command: "set_model", model });

export const setPermissionMode = (mode: PermissionMode) =>
  give({ command: "set_permission_mode", permission_mode: mode });

/** Turns a plugin on or off for this session, from its next agent process on. */
export function setPlugin(plugin: string, isOn: boolean): void {
  if (!switchPlugin(plugin, isOn)) notify(i18n.t("command.lost"));
}

/** Makes a copy of the session, whole or up to the event `atSeq`, and opens it. */
export async function forkSession(atSeq: number | null = null): Promise<void> {
  try {
    const id = await runCommand({ command: "fork", ...(atSeq !== null && { at_seq: atSeq }) });
    // The list learns of it now; without an answer it does so at its next reading.
    await fetchSession(id).then(useAppStore.getState().putSession, () => undefined);
    navigate(sessionPath(id));
  } catch (error) {
    notify(explainRefusal(error));
  }
}

/** @throws {CommandError} nothing was taken back, as far as the server said. */
export async function rewindTo(beforeSeq: number, hasFiles: boolean): Promise<void> {
  await runCommand({ command: "rewind", before_seq: beforeSeq, files: hasFiles });
}

/** Takes the conversation back to before a message and sends another in its place. @throws {CommandError} likewise. */
export async function replaceMessage(seq: number, hasFiles: boolean, content: MessageContent): Promise<void> {
  const { sessionId } = useAppStore.getState();
  try {
    await rewindTo(seq, hasFiles);
  } catch (error) {
    if (error instanceof CommandError && error.isLost && sessionId !== null)
      keepText(sessionId, content.text);
    throw error;
  }
  sendMessage(content);
}

/** It may have been carried out unheard, and the editor goes away with the message: the text must not. */
function keepText(sessionId: string, text: string): void {
  const { drafts, setDraftText } = useAppStore.getState();
  const key = draftKey(sessionId);
  if ((drafts[key]?.text ?? "") === "") setDraftText(key, text);
}
