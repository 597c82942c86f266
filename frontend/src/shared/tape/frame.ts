import type * as Wire from "@/shared/api/frames.gen";

/** What every event on the tape has besides its payload. `seq` grows, but may have holes. */
export type Envelope = {
  readonly seq: number;
  readonly session_id: string;
  readonly turn_id: string | null;
  readonly actor: string | null;
  readonly ts: string;
};

export type TapeEvent = Envelope & Wire.AnyEvent;
export type EventOf<Type extends Wire.AnyEvent["type"]> = Extract<TapeEvent, { type: Type }>;

/** An event of a newer server: it moves the cursor and shows nothing. */
export type UnknownEvent = Pick<Envelope, "seq"> & { readonly type: "unknown"; readonly original: unknown };

/** What a reader needs of a frame; the rest may be missing, as from an older server. */
type Needing<Type, Key extends keyof Type> = Pick<Type, Key> & Partial<Type>;

/** First frame of every connection. With `resume: "gap"` the tape must be read again from `from_seq`. */
export type HelloFrame = Needing<Wire.HelloFrame, "type" | "session_id" | "last_seq" | "resume">;

/** An error about one frame this client sent; an error without `seq` is never on the tape. */
export type FrameError = Needing<Wire.ErrorFrame, "type" | "code" | "message">;

/** What this client sends. */
export type ClientFrame = Wire.Frames["client"];
type CommandFrame = Extract<ClientFrame, { type: "session_command" }>;
export type SessionCommand = CommandFrame extends infer Frame
  ? Frame extends unknown
    ? Omit<Frame, "type">
    : never
  : never;

export type Frame =
  | { readonly kind: "event"; readonly event: TapeEvent | UnknownEvent }
  | { readonly kind: "hello"; readonly hello: HelloFrame }
  | { readonly kind: "error"; readonly error: FrameError }
  | { readonly kind: "command_result"; readonly result: Wire.CommandResultFrame }
  | { readonly kind: "status"; readonly status: Wire.Status["status"] }
  | { readonly kind: "pong" }
  | { readonly kind: "ignored"; readonly original: unknown };
