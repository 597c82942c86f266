import type { AnyEvent } from "@/shared/api/frames.gen";

/** What every event on the tape has besides its payload. `seq` grows, but may have holes. */
export type Envelope = {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string | null;
  readonly actor: string | null;
  readonly ts: string;
};

export type TapeEvent = Envelope & AnyEvent;
export type EventOf<Type extends AnyEvent["type"]> = Extract<TapeEvent, { type: Type }>;

/** An event of a newer server: it moves the cursor and shows nothing. */
export type UnknownEvent = Pick<Envelope, "seq"> & { readonly type: "unknown"; readonly original: unknown };

/** First frame of every connection. With `resume: "gap"` the tape must be read again from `from_seq`. */
export type HelloFrame = {
  readonly type: "hello";
  readonly session_id: string;
  readonly last_seq: number;
  readonly resume: "ok" | "gap";
  readonly from_seq?: number;
  readonly status?: string;
  readonly title?: string;
  readonly model?: string;
  readonly cost_usd?: number;
  readonly context_percent?: number | null;
};

/** An error about one frame this client sent; an error without `seq` is never on the tape. */
export type FrameError = {
  readonly type: "error";
  readonly code: string;
  readonly message: string;
  readonly client_id?: string;
  readonly request_id?: string;
};

export type Frame =
  | { readonly kind: "event"; readonly event: TapeEvent | UnknownEvent }
  | { readonly kind: "hello"; readonly hello: HelloFrame }
  | { readonly kind: "error"; readonly error: FrameError }
  | { readonly kind: "pong" }
  | { readonly kind: "ignored"; readonly original: unknown };
