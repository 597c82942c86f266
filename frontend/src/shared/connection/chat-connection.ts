import type {
  CommandResultFrame,
  PermissionResponseFrame,
  PresenceFrame,
  Status,
} from "@/shared/api/frames.gen";
import {
  idleConnection,
  nextConnection,
  type ConnectionInput,
  type ConnectionState,
} from "@/shared/connection/connection-state";
import type { MessageContent, Outbox, OutgoingMessage } from "@/shared/connection/outbox";
import { toFrames } from "@/shared/tape/convert";
import type {
  ClientFrame,
  FrameError,
  HelloFrame,
  SessionCommand,
  TapeEvent,
  UnknownEvent,
} from "@/shared/tape/frame";

// Proxies close silent connections after 30-60 s; 20 s stays below all of them.
const pingIntervalMs = 20_000;
// A server that is there answers a ping in milliseconds; after this long the line is dead although nobody said so.
const pongTimeoutMs = 10_000;
const normalClosure = 1000;
const lostWithoutWord = 1006;

export type PermissionAnswer = Omit<PermissionResponseFrame, "type">;

export type ChatConnectionOptions = {
  readonly sessionId: string;
  /** Highest `seq` that is known already; the server sends what comes after it. */
  readonly after: number;
  readonly outbox: Outbox;
  /** Gives a token that is good for a while; with `isRefused` the last one was not. Null: signed out. */
  readonly getToken: (isRefused: boolean) => Promise<string | null>;
  readonly onState: (state: ConnectionState) => void;
  /** Events in order, each once per connection; the fold ignores what it has seen. */
  readonly onEvents: (events: readonly (TapeEvent | UnknownEvent)[]) => void;
  readonly onHello: (hello: HelloFrame) => void;
  /** The server's tape does not continue ours: forget the session's events, they come again. */
  readonly onGap: () => void;
  /** A reconnected client has everything again; `count` events had been missed in the `awayMs` without connection. */
  readonly onCaughtUp: (count: number, awayMs: number) => void;
  readonly onError: (error: FrameError) => void;
  readonly onCommandResult: (result: CommandResultFrame) => void;
  /** What the server says of the session that is not on its tape. */
  readonly onStatus: (status: Status["status"]) => void;
  /** For tests. */
  readonly openSocket?: (url: string, protocols: string[]) => WebSocket;
};

function socketUrl(sessionId: string, after: number): string {
  const url = new URL("/ws/v1/chat", location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  url.searchParams.set("session_id", sessionId);
  url.searchParams.set("after", String(after));
  return url.href;
}

/**
 * The WebSocket of one session: opens it, keeps it, opens it again and asks for exactly what was missed.
 *
 * Knows no React and no store; it reports through the callbacks of its options. What to do next is decided by
 * the pure `nextConnection`, this class only does it.
 */
export class ChatConnection {
  readonly #options: ChatConnectionOptions;
  #state: ConnectionState = idleConnection;
  #socket: WebSocket | null = null;
  #lastSeq: number;
  /** Number of the latest attempt to connect; an older one that comes back late does nothing. */
  #attempt = 0;
  /** When an open connection was lost; null while it is open and before it ever was. */
  #lostAt: number | null = null;
  #catchingUp: { readonly target: number; readonly awayMs: number; count: number } | null = null;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #pingTimer: ReturnType<typeof setInterval> | undefined;
  #pongTimer: ReturnType<typeof setTimeout> | undefined;
  /** Answers to permission requests that the tape has not confirmed. */
  readonly #answers = new Map<string, PermissionAnswer>();

  constructor(options: ChatConnectionOptions) {
    this.#options = options;
    this.#lastSeq = options.after;
  }

  start(): void {
    addEventListener("online", this.#onReachable);
    document.addEventListener("visibilitychange", this.#onReachable);
    this.#step({ type: "start" });
  }

  stop(): void {
    removeEventListener("online", this.#onReachable);
    document.removeEventListener("visibilitychange", this.#onReachable);
    this.#attempt += 1;
    this.#dropSocket();
    this.#step({ type: "stop" });
  }

  /** Tries now instead of at the end of the back-off, or again after a final close. */
  retryNow(): void {
    if (this.#state.phase === "closed") this.#step({ type: "start" });
    else this.#step({ type: "retry" });
  }

  /** Accepts a message for sending, now or when there is a connection. Returns its client id. */
  sendMessage(content: MessageContent): string {
    const message = this.#options.outbox.add(content);
    this.#sendMessage(message);
    return message.clientId;
  }

  /** Asks for something that is not worth doing later; false when there is no connection to ask over. */
  command(command: SessionCommand): boolean {
    return this.#send({ type: "session_command", ...command });
  }

  /** Turns a plugin on or off for the session, from its next agent process on; false when there is no connection. */
  configurePlugin(plugin: string, enabled: boolean): boolean {
    return this.#send({ type: "plugin_config", plugin, enabled });
  }

  /** Tells the others, and the server, what this person is doing. */
  tellPresence(state: PresenceFrame["state"]): void {
    this.#send({ type: "presence", state });
  }

  interrupt(): void {
    this.#send({ type: "interrupt" });
  }

  answer(answer: PermissionAnswer): void {
    this.#answers.set(answer.request_id, answer);
    this.#send({ type: "permission_response", ...answer });
  }

  #step(input: ConnectionInput): void {
    clearTimeout(this.#retryTimer);
    const [state, effect] = nextConnection(this.#state, input);
    if (state !== this.#state) {
      this.#state = state;
      this.#options.onState(state);
    }
    if (effect.type === "connect") {
      void this.#connect(effect.hasFreshToken);
    } else if (effect.type === "wait") {
      this.#retryTimer = setTimeout(() => this.#step({ type: "retry" }), effect.delayMs);
    }
  }

  async #connect(isTokenRefused: boolean): Promise<void> {
    this.#dropSocket();
    const attempt = ++this.#attempt;
    let token: string | null;
    try {
      token = await this.#options.getToken(isTokenRefused);
    } catch {
      // The server cannot be reached for a token either: same as a lost connection.
      if (this.#attempt === attempt) {
        this.#step({ type: "closed", code: lostWithoutWord, jitter: Math.random() });
      }
      return;
    }
    // Stopped, or another attempt began, while the token was fetched.
    if (this.#attempt !== attempt) return;
    if (token === null) {
      this.#step({ type: "token_refused" });
      return;
    }
    this.#open(token);
  }

  #open(token: string): void {
    const open = this.#options.openSocket ?? ((url, protocols) => new WebSocket(url, protocols));
    const socket = open(socketUrl(this.#options.sessionId, this.#lastSeq), ["csp.v1", `csp.bearer.${token}`]);
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      if (this.#socket === socket && typeof data === "string") this.#receive(data);
    };
    socket.onclose = ({ code }) => {
      if (this.#socket === socket) this.#lose(code);
    };
  }

  #receive(message: string): void {
    clearTimeout(this.#pongTimer);
    let events: (TapeEvent | UnknownEvent)[] = [];
    for (const frame of toFrames(message)) {
      if (frame.kind === "event") {
        events.push(frame.event);
        continue;
      }
      // Keep the order between events and what is said about the connection.
      this.#deliver(events);
      events = [];
      if (frame.kind === "hello") this.#greet(frame.hello);
      else if (frame.kind === "error") this.#refuse(frame.error);
      else if (frame.kind === "command_result") this.#options.onCommandResult(frame.result);
      else if (frame.kind === "status") this.#options.onStatus(frame.status);
    }
    this.#deliver(events);
  }

  #greet(hello: HelloFrame): void {
    if (hello.resume === "gap") {
      // Our number means nothing to this tape; what follows is the whole of it from the number it names.
      this.#lastSeq = (hello.from_seq ?? 1) - 1;
      this.#options.onGap();
    }
    const lostAt = this.#lostAt;
    this.#lostAt = null;
    this.#step({ type: "hello" });
    this.#options.onHello(hello);
    this.#catchingUp =
      lostAt === null ? null : { target: hello.last_seq, count: 0, awayMs: Date.now() - lostAt };
    this.#finishCatchUp();
    this.#startPings();
    for (const message of this.#options.outbox.waiting) this.#sendMessage(message);
    for (const answer of this.#answers.values()) this.#send({ type: "permission_response", ...answer });
  }

  #refuse(error: FrameError): void {
    // A refused answer must not be sent again after the next reconnect. Of a frame that could not be read, nobody
    // knows whether it was one.
    if (error.request_id) this.#answers.delete(error.request_id);
    else if (!error.client_id && !error.command) this.#answers.clear();
    this.#options.onError(error);
  }

  #deliver(events: readonly (TapeEvent | UnknownEvent)[]): void {
    if (events.length === 0) return;
    for (const event of events) {
      if (event.seq > this.#lastSeq) {
        this.#lastSeq = event.seq;
        if (this.#catchingUp) this.#catchingUp.count += 1;
      }
      if (event.type === "user_message") this.#options.outbox.remove(event.client_id);
      else if (event.type === "permission_resolved") this.#answers.delete(event.request_id);
    }
    this.#options.onEvents(events);
    this.#finishCatchUp();
  }

  #finishCatchUp(): void {
    if (!this.#catchingUp || this.#lastSeq < this.#catchingUp.target) return;
    const { count, awayMs } = this.#catchingUp;
    this.#catchingUp = null;
    this.#options.onCaughtUp(count, awayMs);
  }

  #lose(code: number): void {
    if (this.#state.phase === "open") this.#lostAt = Date.now();
    this.#dropSocket();
    this.#step({ type: "closed", code, jitter: Math.random() });
  }

  #dropSocket(): void {
    clearInterval(this.#pingTimer);
    clearTimeout(this.#pongTimer);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close(normalClosure);
  }

  #startPings(): void {
    clearInterval(this.#pingTimer);
    this.#pingTimer = setInterval(() => this.#ping(), pingIntervalMs);
  }

  #ping(): void {
    this.#send({ type: "ping" });
    clearTimeout(this.#pongTimer);
    this.#pongTimer = setTimeout(() => this.#lose(lostWithoutWord), pongTimeoutMs);
  }

  readonly #onReachable = (): void => {
    if (document.visibilityState === "hidden") return;
    // A sleeping laptop's socket looks open: ask it.
    if (this.#state.phase === "open") this.#ping();
    else this.#step({ type: "retry" });
  };

  #sendMessage({ clientId, text, attachments }: OutgoingMessage): void {
    const ids = attachments.map(({ attachment_id }) => attachment_id);
    this.#send({
      type: "user_message",
      client_id: clientId,
      text,
      ...(ids.length > 0 && { attachments: ids }),
    });
  }

  #send(frame: ClientFrame): boolean {
    if (this.#state.phase !== "open" || this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }
}
