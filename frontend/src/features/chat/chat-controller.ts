import { freshToken, refreshToken } from "@/shared/api/access-token";
import { createSession, type SessionSummary } from "@/shared/api/rest";
import { ChatConnection, type PermissionAnswer } from "@/shared/connection/chat-connection";
import { Outbox } from "@/shared/connection/outbox";
import { useAppStore } from "@/shared/store/app-store";
import { EventQueue } from "@/shared/store/event-queue";
import type { FrameError, HelloFrame, TapeEvent, UnknownEvent } from "@/shared/tape/frame";
import { isRunning, type Transcript } from "@/shared/tape/transcript";

type OpenChat = {
  readonly sessionId: string;
  readonly connection: ChatConnection;
  readonly outbox: Outbox;
  readonly queue: EventQueue;
};

const store = useAppStore;
let chat: OpenChat | null = null;

// Longer than the banner waits before it says that the connection is lost.
const noticedMs = 800;

/** Shows a session and keeps its connection until another is opened or `closeChat` is called. */
export function openChat(sessionId: string): void {
  if (chat?.sessionId === sessionId) return;
  closeChat();
  const { showSession, setOutbox, setConnection } = store.getState();
  showSession(sessionId);
  const outbox = new Outbox(sessionId, setOutbox);
  const queue = new EventQueue((events) => apply(sessionId, events));
  const connection = new ChatConnection({
    sessionId,
    outbox,
    after: store.getState().transcripts[sessionId]?.lastSeq ?? 0,
    getToken: (isRefused) => (isRefused ? refreshToken() : freshToken()),
    onState: setConnection,
    onEvents: (events) => queue.push(events),
    onHello: (hello) => greet(sessionId, hello),
    onGap: () => {
      queue.clear();
      store.getState().resetTranscript(sessionId);
    },
    onCaughtUp: (count, awayMs) => {
      // Nobody saw a blink in which nothing happened.
      if (count > 0 || awayMs > noticedMs) store.getState().setCaughtUp({ count, at: Date.now() });
    },
    onError: (error) => refuse(outbox, error),
  });
  chat = { sessionId, connection, outbox, queue };
  connection.start();
}

export function closeChat(): void {
  if (!chat) return;
  chat.queue.flush();
  chat.connection.stop();
  chat = null;
  const { showSession, setOutbox, setCaughtUp } = store.getState();
  setOutbox([]);
  setCaughtUp(null);
  showSession(null);
}

function greet(sessionId: string, hello: HelloFrame): void {
  targetSeq = hello.last_seq;
  store.getState().setFacts(sessionId, {
    title: hello.title ?? null,
    model: hello.model ?? null,
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
  for (const event of events.slice(-1)) {
    if (event.type !== "unknown") addClockSample(Date.now() - Date.parse(event.ts));
  }
  applyEvents(sessionId, events);
  if ((events.at(-1)?.seq ?? 0) >= targetSeq) setLoaded(sessionId);
  const transcript = store.getState().transcripts[sessionId];
  if (transcript) updateRow(sessionId, transcript);
}

/** What the session list says about a session as of its tape. */
export function toRow(transcript: Transcript): Partial<SessionSummary> {
  const { waitingKeys, status, settings } = transcript;
  const running = status.name === "idle" ? "thinking" : status.name;
  return {
    status: waitingKeys.length > 0 ? "awaiting_permission" : isRunning(transcript) ? running : "idle",
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
  if (error.client_id) outbox.refuse(error.message, error.client_id);
  else store.getState().notify(error.message);
}

export function sendMessage(text: string): void {
  chat?.connection.sendMessage(text);
}

/** Makes a session, opens it and sends its first message. @throws {ApiError} the session could not be made. */
export async function startChat(text: string): Promise<string> {
  const session = await createSession();
  store.getState().putSession(session);
  openChat(session.id);
  sendMessage(text);
  return session.id;
}

export function resendMessage(clientId: string, text: string): void {
  chat?.outbox.remove(clientId);
  sendMessage(text);
}

export function discardMessage(clientId: string): void {
  chat?.outbox.remove(clientId);
}

export function stopTurn(): void {
  chat?.connection.interrupt();
}

export function answerPermission(answer: PermissionAnswer): void {
  chat?.connection.answer(answer);
}

export function reconnectNow(): void {
  chat?.connection.retryNow();
}
