import type { CommandResultFrame } from "@/shared/api/frames.gen";
import type { FrameError } from "@/shared/tape/frame";

type Command = CommandResultFrame["command"];
type Pending = {
  readonly resolve: (sessionId: string) => void;
  readonly reject: (error: CommandError) => void;
};

/** A session command was not carried out; the message is the server's, or null when the connection was lost. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly isLost: boolean;

  constructor(message: string | null) {
    super(message ?? "The connection was lost.");
    this.isLost = message === null;
  }
}

/** Commands that the server answers, until it does. Of each kind one is under way at a time. */
export class PendingCommands {
  readonly #pending = new Map<Command, Pending>();

  /** Resolves with the session that the answer names. @throws {CommandError} it was refused, or is under way. */
  wait(command: Command): Promise<string> {
    this.#pending.get(command)?.reject(new CommandError(null));
    return new Promise((resolve, reject) => this.#pending.set(command, { resolve, reject }));
  }

  finish({ command, session_id }: CommandResultFrame): void {
    this.#take(command)?.resolve(session_id);
  }

  /** Whether the error belonged to a command that somebody waits for. */
  refuse({ command, message }: FrameError): boolean {
    const pending = this.#take(command as Command);
    pending?.reject(new CommandError(message));
    return pending !== undefined;
  }

  /** Nobody wants to know any more. */
  forget(command: Command): void {
    this.#take(command);
  }

  lose(command: Command): void {
    this.#take(command)?.reject(new CommandError(null));
  }

  #take(command: Command): Pending | undefined {
    const pending = this.#pending.get(command);
    this.#pending.delete(command);
    return pending;
  }
}
