import type { AttachmentRef } from "@/shared/api/frames.gen";

/** What a person sends: text, uploaded files, or both. */
export type MessageContent = {
  readonly text: string;
  readonly attachments: readonly AttachmentRef[];
};

export type OutgoingMessage = MessageContent & {
  readonly clientId: string;
  /** The server's words when it refused the message; null while it may still be accepted. */
  readonly refusal: string | null;
};

/**
 * Messages of one session that the tape has not echoed yet. They survive a lost connection and a reload of the tab;
 * sending one twice is harmless because the server runs each `clientId` once.
 */
export class Outbox {
  readonly #storage: Storage;
  readonly #storageKey: string;
  readonly #onChange: (messages: readonly OutgoingMessage[]) => void;
  #messages: readonly OutgoingMessage[];

  constructor(
    sessionId: string,
    onChange: (messages: readonly OutgoingMessage[]) => void,
    storage: Storage = sessionStorage,
  ) {
    this.#storageKey = `csp.outbox.${sessionId}`;
    this.#storage = storage;
    this.#onChange = onChange;
    this.#messages = this.#load();
    onChange(this.#messages);
  }

  get waiting(): readonly OutgoingMessage[] {
    return this.#messages.filter((message) => message.refusal === null);
  }

  add({ text, attachments }: MessageContent): OutgoingMessage {
    const message = { clientId: newClientId(), text, attachments, refusal: null };
    this.#set([...this.#messages, message]);
    return message;
  }

  /** The tape has it, or the person gave it up. */
  remove(clientId: string): void {
    if (!this.#messages.some((message) => message.clientId === clientId)) return;
    this.#set(this.#messages.filter((message) => message.clientId !== clientId));
  }

  /** Keeps a message that the server did not take, with the reason, until the person decides. */
  refuse(refusal: string, clientId: string): void {
    this.#set(
      this.#messages.map((message) => (message.clientId === clientId ? { ...message, refusal } : message)),
    );
  }

  #set(messages: readonly OutgoingMessage[]): void {
    this.#messages = messages;
    try {
      if (messages.length === 0) this.#storage.removeItem(this.#storageKey);
      else this.#storage.setItem(this.#storageKey, JSON.stringify(messages));
    } catch {
      // Storage full or forbidden: the messages live as long as the page.
    }
    this.#onChange(messages);
  }

  #load(): readonly OutgoingMessage[] {
    try {
      const stored: unknown = JSON.parse(this.#storage.getItem(this.#storageKey) ?? "[]");
      if (!Array.isArray(stored)) return [];
      // What an earlier version of this page stored knows no attachments.
      return stored
        .filter(isOutgoingMessage)
        .map((message) => ({ ...message, attachments: message.attachments ?? [] }));
    } catch {
      return [];
    }
  }
}

type StoredMessage = Omit<OutgoingMessage, "attachments"> & Partial<Pick<OutgoingMessage, "attachments">>;

function isOutgoingMessage(value: unknown): value is StoredMessage {
  if (typeof value !== "object" || value === null) return false;
  const { clientId, text } = value as Partial<OutgoingMessage>;
  return typeof clientId === "string" && typeof text === "string";
}

function newClientId(): string {
  // randomUUID exists in secure contexts only; plain http on another host than localhost is not one.
  if ("randomUUID" in crypto) return crypto.randomUUID();
  const bytes = (crypto as Crypto).getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
