import type { AttachmentRef } from "@/shared/api/frames.gen";

export type Upload = {
  readonly id: string;
  readonly name: string;
  readonly sizeBytes: number;
  readonly mediaType: string;
  /** `waiting` for a session to upload it to, or for its turn. */
  readonly state: "waiting" | "uploading" | "ready" | "failed";
  /** From 0 to 1. */
  readonly progress: number;
  /** What the server calls it, once it is `ready`. */
  readonly attachment: AttachmentRef | null;
  /** Why it `failed`. */
  readonly error: string | null;
  /** Address of a preview, for pictures chosen in this page. */
  readonly previewUrl: string | null;
};

/** What stands in the composer and was not sent. */
export type ComposerDraft = { readonly text: string; readonly uploads: readonly Upload[] };

/* What was typed or uploaded and not sent, per session, kept in this browser. */

const textKey = (key: string) => `csp.draft.${key}`;
const filesKey = (key: string) => `csp.attached.${key}`;

function isAttachment(value: unknown): value is AttachmentRef {
  if (typeof value !== "object" || value === null) return false;
  const { attachment_id, name } = value as Partial<AttachmentRef>;
  return typeof attachment_id === "string" && typeof name === "string";
}

/** A file that is on the server already, as the composer shows it. */
export function toUpload(attachment: AttachmentRef): Upload {
  return {
    id: attachment.attachment_id,
    name: attachment.name,
    sizeBytes: attachment.size_bytes,
    mediaType: attachment.media_type,
    state: "ready",
    progress: 1,
    attachment,
    error: null,
    previewUrl: null,
  };
}

export function loadDraft(key: string): ComposerDraft {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(filesKey(key)) ?? "[]");
    const uploads = Array.isArray(stored) ? stored.filter(isAttachment).map(toUpload) : [];
    return { text: localStorage.getItem(textKey(key)) ?? "", uploads };
  } catch {
    return { text: "", uploads: [] };
  }
}

function store(key: string, value: string): void {
  if (value === "") localStorage.removeItem(key);
  else localStorage.setItem(key, value);
}

/** Files that are not uploaded yet cannot be kept: a page that was closed has lost its hold on them. */
export function saveDraft(key: string, { text, uploads }: ComposerDraft): void {
  const files = uploads.flatMap(({ attachment }) => attachment ?? []);
  try {
    store(textKey(key), text);
    store(filesKey(key), files.length === 0 ? "" : JSON.stringify(files));
  } catch {
    // Storage full or forbidden: the draft lives as long as the page.
  }
}
