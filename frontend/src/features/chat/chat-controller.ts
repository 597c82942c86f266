import { CommandError, PendingCommands } from "@/features/chat/pending-commands";
import { freshToken, refreshToken } from "@/shared/api/access-token";
import type { SessionSummary } from "@/shared/api/rest";
import { ChatConnection, type PermissionAnswer } from "@/shared/connection/chat-connection";
import type { ConnectionState } from "@/shared/connection/connection-state";
import { Outbox, type MessageContent, type OutgoingMessage } from "@/shared/connection/outbox";
import { useAppStore } from "@/shared/store/app-store";
import { loadDraft, toUpload } from "@/shared/store/composer-draft";
import { draftKey } from "@/shared/store/drafts-slice";
import { EventQueue } from "@/shared/store/event-queue";
import type { FrameError, HelloFrame, SessionCommand, TapeEvent, UnknownEvent } from "@/shared/tape/frame";
import { isRunning, type Transcript } from "@/shared/tape/transcript";

type OpenChat = {
  readonly sessionId: string;
  readonly connection: ChatConnection;
  readonly outbox: Outbox;
  readonly queue: EventQueue;
  readonly commands: PendingCommands;
};

const store = useAppStore;
let chat: OpenChat | null = null;

// Longer than the banner waits before it says that the connection is lost.
const noticedMs = 800;

/** Shows a session and keeps its connection until another is opened or `closeChat` is called. */
export function openChat(sessionId: string): void {
  if (chat?.sessionId === sessionId) return;
  closeChat();
  const { showSession, setOutbox } = store.getState();
  showSession(sessionId);
  const outbox = new Outbox(sessionId, setOutbox);
  const queue = new EventQueue((events) => apply(sessionId, events));
  const commands = new PendingCommands();
  const connection = new ChatConnection({
    sessionId,
    outbox,
    after: store.getState().transcripts[sessionId]?.lastSeq ?? 0,
    getToken: (isRefused) => (isRefused ? refreshToken() : freshToken()),
    onState: (state) => follow(commands, state),
    onEvents: (events) => {
      if (events.some(isAwaitedRewind)) commands.finish(rewindDone(sessionId));
      queue.push(events);
    },
    onHello: (hello) => greet(sessionId, hello),
    onGap: () => {
      queue.clear();
      store.getState().resetTranscript(sessionId);
    },
    onCaughtUp: (count, awayMs) => {
      // Had it been carried out, the tape would have said so by now.
      commands.lose("rewind");
      // Nobody saw a blink in which nothing happened.
      if (count > 0 || awayMs > noticedMs) store.getState().setCaughtUp({ count, at: Date.now() });
    },
    onError: (error) => {
      if (!commands.refuse(error)) refuse(outbox, error);
    },
    onCommandResult: (result) => commands.finish(result),
    onStatus: (status) => {
      queue.flush();
      store.getState().setStatus(sessionId, status);
    },
  });
  chat = { sessionId, connection, outbox, queue, commands };
  connection.start();
}

export function closeChat(): void {
  if (!chat) return;
  chat.queue.flush();
  chat.commands.forget("fork");
  chat.commands.lose("rewind");
  chat.connection.stop();
  chat = null;
  const { showSession, setOutbox, setCaughtUp } = store.getState();
  setOutbox([]);
  setCaughtUp(null);
  showSession(null);
}

const rewindDone = (session_id: string) =>
  ({ type: "session_command_result", command: "rewind", session_id }) as const;

/** The rewind that was asked for last: the tape tells of it, should the answer be lost with the connection. */
let awaitedRewind = { beforeSeq: 0, after: 0 };

function isAwaitedRewind(event: TapeEvent | UnknownEvent): boolean {
  const { beforeSeq, after } = awaitedRewind;
  return event.type === "rewound" && event.before_seq === beforeSeq && event.seq > after;
}

function follow(commands: PendingCommands, state: ConnectionState): void {
  store.getState().setConnection(state);
  // Whether a rewind was carried out is on the tape, whenever we come back; of a fork nothing would tell us.
  if (state.phase !== "open") commands.lose("fork");
  if (state.phase === "closed") commands.lose("rewind");
}

function greet(sessionId: string, hello: HelloFrame): void {
  targetSeq = hello.last_seq;
  store.getState().setFacts(sessionId, {
    title: hello.title ?? null,
    model: hello.model ?? null,
    permissionMode: hello.permission_mode ?? null,
    plugins: hello.plugins ?? [],
    profile: hello.profile_display_name ?? null,
    status: hello.status ?? "idle",
    lastSeq: hello.last_seq,
    costUsd: hello.cost_usd ?? 0,
    contextPercent: hello.context_percent ?? null,
  });
  const known = store.getState().transcripts[sessionId]?.lastSeq ?? 0;
  if (known >= hello.last_seq) store.getState().setLoaded(sessionId);
}

/** Number of the last event the server had when we connected: until then the tape is still being read. */
let targetSeq = 0;

function apply(sessionId: string, events: readonly (TapeEvent | UnknownEvent)[]): void {
  const { applyEvents, addClockSample, setLoaded } = store.getState();
  const latest = events.at(-1);
  // The age of an event that was replayed says nothing about the server's clock.
  if (latest && latest.type !== "unknown" && latest.seq > targetSeq) {
    addClockSample(Date.now() - Date.parse(latest.ts));
  }
  applyEvents(sessionId, events);
  if ((latest?.seq ?? 0) >= targetSeq) setLoaded(sessionId);
  const transcript = store.getState().transcripts[sessionId];
  if (transcript) updateRow(sessionId, transcript);
}

/** What the session list says about a session as of its tape. */
export function toRow(transcript: Transcript): Partial<SessionSummary> {
  const { waitingKeys, status, settings } = transcript;
  const running = status.name === "idle" ? "thinking" : status.name;
  const quiet = status.name === "hibernated" ? "hibernated" : "idle";
  return {
    status: waitingKeys.length > 0 ? "awaiting_permission" : isRunning(transcript) ? running : quiet,
    ...(settings.title !== null && { title: settings.title }),
    ...(settings.model !== null && { model: settings.model }),
  };
}

function updateRow(sessionId: string, transcript: Transcript): void {
  const { sessions, patchSession } = store.getState();
  const row = sessions?.find(({ id }) => id === sessionId);
  const change = toRow(transcript);
  const isNews = row && Object.entries(change).some(([key, value]) => row[key as keyof typeof row] !== value);
  if (isNews) patchSession(sessionId, change);
}

function refuse(outbox: Outbox, error: FrameError): void {
  // The connection is about to close, and the message goes out again after the restart.
  if (error.code === "server_shutting_down") return;
  if (error.request_id) refusedAnswers.dispatchEvent(new Event(error.request_id));
  if (error.client_id) outbox.refuse(error.message, error.client_id);
  else store.getState().notify(error.message);
}

export function sendMessage(content: MessageContent): void {
  chat?.connection.sendMessage(content);
}

export function resendMessage(clientId: string, content: MessageContent): void {
  chat?.outbox.remove(clientId);
  sendMessage(content);
}

/** Gives a command that is not answered; false when there is no connection. */
export function giveCommand(command: SessionCommand): boolean {
  return chat?.connection.command(command) ?? false;
}

/** Turns a plugin on or off for the session; false when there is no connection. */
export function switchPlugin(plugin: string, isOn: boolean): boolean {
  return chat?.connection.configurePlugin(plugin, isOn) ?? false;
}

/** Gives a command and waits for its answer: the session it names. @throws {CommandError} it was not carried out. */
export function runCommand(
  command: Extract<SessionCommand, { command: "fork" | "rewind" }>,
): Promise<string> {
  if (!chat?.connection.command(command)) return Promise.reject(new CommandError(null));
  if (command.command === "rewind") {
    const after = store.getState().transcripts[chat.sessionId]?.lastSeq ?? 0;
    awaitedRewind = { beforeSeq: command.before_seq, after };
  }
  return chat.commands.wait(command.command);
}

/** Puts a message that was not sent back into the composer, behind what stands there. */
export function reviseMessage({ clientId, text, attachments }: OutgoingMessage): void {
  if (!chat) return;
  const { drafts, setDraftText, changeUploads } = store.getState();
  const key = draftKey(chat.sessionId);
  setDraftText(key, [(drafts[key] ?? loadDraft(key)).text, text].filter(Boolean).join("\n"));
  changeUploads(key, (uploads) => [...uploads, ...attachments.map(toUpload)]);
  chat.outbox.remove(clientId);
}

export function discardMessage(clientId: string): void {
  chat?.outbox.remove(clientId);
}

// The server brings a sleeping agent back while its message is being written. Said again for those who come later.
const typingAgainMs = 5_000;
const typingOverMs = 8_000;
let typing: { readonly connection: ChatConnection; readonly toldAt: number } | null = null;
let typingOver: ReturnType<typeof setTimeout> | undefined;

/** Says that a message is being written. Called at each change of it. */
export function noteTyping(): void {
  if (!chat) return;
  const { connection } = chat;
  clearTimeout(typingOver);
  typingOver = setTimeout(() => {
    typing = null;
    if (chat?.connection === connection) connection.tellPresence("active");
  }, typingOverMs);
  const now = performance.now();
  if (typing?.connection === connection && now - typing.toldAt < typingAgainMs) return;
  typing = { connection, toldAt: now };
  connection.tellPresence("typing");
}

export function stopTurn(): void {
  chat?.connection.interrupt();
}

export function answerPermission(answer: PermissionAnswer): void {
  chat?.connection.answer(answer);
}

/** Has an event, named after the permission request, for each answer that the server refused. */
export const refusedAnswers = new EventTarget();

export function reconnectNow(): void {
  chat?.connection.retryNow();
}
