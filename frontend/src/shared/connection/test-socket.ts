/** The browser's end of a WebSocket, with the server's end in the hands of the test. */
export class TestSocket {
  static readonly all: TestSocket[] = [];
  readyState: number = WebSocket.CONNECTING;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  readonly sent: Record<string, unknown>[] = [];

  constructor(
    readonly url: string,
    readonly protocols: string[],
  ) {
    TestSocket.all.push(this);
  }
  static get last(): TestSocket {
    const socket = TestSocket.all.at(-1);
    if (!socket) throw new Error("No socket was opened.");
    return socket;
  }
  send(data: string): void {
    this.sent.push(JSON.parse(data) as Record<string, unknown>);
  }
  close(): void {
    this.readyState = WebSocket.CLOSED;
  }
  say(frame: unknown): void {
    this.readyState = WebSocket.OPEN;
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
  hello(last_seq = 0, more: object = {}): void {
    this.say({ type: "hello", session_id: "s1", last_seq, resume: "ok", ...more });
  }
  lose(code = 1006): void {
    this.readyState = WebSocket.CLOSED;
    this.onclose?.({ code });
  }
  get after(): string | null {
    return new URL(this.url).searchParams.get("after");
  }
}
