import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";

import { TokenBucket } from "@/shared/lib/token-bucket";

// A slider that is dragged sends one for each frame of the screen, for a while.
const burst = 240;
const perSecond = 60;

const maxLength = 256 * 1024;

/**
 * The way to an app in a frame, and back. An app that sends too much, or too often, is given up: each message costs this
 * page something, whatever becomes of it.
 *
 * The library's own transport has no bounds, and writes what it gets to the console.
 */
export class FrameTransport implements Transport {
  onmessage?: NonNullable<Transport["onmessage"]>;
  onclose?: () => void;
  onerror?: (error: Error) => void;

  readonly #frame: HTMLIFrameElement;
  readonly #onGivenUp: () => void;
  readonly #bucket = new TokenBucket(burst, perSecond);

  constructor(frame: HTMLIFrameElement, onGivenUp: () => void) {
    this.#frame = frame;
    this.#onGivenUp = onGivenUp;
  }

  start(): Promise<void> {
    addEventListener("message", this.#listen);
    return Promise.resolve();
  }

  send(message: JSONRPCMessage): Promise<void> {
    // The frame has no origin that could be named; nobody else gets in there, see `frame-src`.
    this.#frame.contentWindow?.postMessage(message, "*");
    return Promise.resolve();
  }

  close(): Promise<void> {
    removeEventListener("message", this.#listen);
    this.onclose?.();
    return Promise.resolve();
  }

  readonly #listen = (event: MessageEvent<unknown>): void => {
    if (event.source === null || event.source !== this.#frame.contentWindow) return;
    const message = this.#bucket.take() ? toPlain(event.data) : tooMuch;
    if (message === tooMuch) {
      void this.close();
      this.#onGivenUp();
      return;
    }
    if (isMessage(message)) this.onmessage?.(message);
  };
}

const tooMuch = Symbol("too much");

/** What JSON can hold of a message. What was posted may be anything that can be cloned, and hold itself. */
function toPlain(data: unknown): unknown {
  try {
    const text = JSON.stringify(data) as string | undefined;
    if (text === undefined) return null;
    return text.length > maxLength ? tooMuch : JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether it can be one; what it says is checked by whoever it is for. */
function isMessage(message: unknown): message is JSONRPCMessage {
  if (typeof message !== "object" || message === null) return false;
  const { jsonrpc, id, method } = message as { jsonrpc?: unknown; id?: unknown; method?: unknown };
  const isId = typeof id === "string" || typeof id === "number";
  return (
    jsonrpc === "2.0" &&
    (typeof method === "string" ? id === undefined || isId : isId && method === undefined)
  );
}
