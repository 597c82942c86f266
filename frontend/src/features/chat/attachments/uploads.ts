import { ApiError } from "@/shared/api/api-error";
import type { AttachmentRef } from "@/shared/api/frames.gen";
import { uploadAttachment } from "@/shared/api/upload";
import { i18n } from "@/shared/i18n/i18n";
import { useAppStore } from "@/shared/store/app-store";
import { loadDraft, type Upload } from "@/shared/store/composer-draft";
import { draftKey } from "@/shared/store/drafts-slice";

// A browser opens six connections to a server; uploads must leave some for the rest of the page.
const maxParallel = 3;
// The most that a message frame can name, whatever the server is set to.
const maxFiles = 100;

const store = useAppStore;
/** The files themselves, until they are on the server, and what stops their upload. */
const files = new Map<string, File>();
const aborts = new Map<string, AbortController>();

const uploadsOf = (key: string) => (store.getState().drafts[key] ?? loadDraft(key)).uploads;

function patch(key: string, id: string, change: Partial<Upload>): void {
  store
    .getState()
    .changeUploads(key, (uploads) =>
      uploads.map((upload) => (upload.id === id ? { ...upload, ...change } : upload)),
    );
}

let count = 0;

function toUpload(file: File): Upload {
  const id = `file-${++count}`;
  files.set(id, file);
  return {
    id,
    name: file.name,
    sizeBytes: file.size,
    mediaType: file.type,
    state: "waiting",
    progress: 0,
    attachment: null,
    error: null,
    previewUrl: file.type.startsWith("image/") ? URL.createObjectURL(file) : null,
  };
}

/** Puts files into the composer of a session and uploads them; for a new conversation they wait until it is made. */
export function addFiles(sessionId: string | null, added: readonly File[]): void {
  const key = draftKey(sessionId);
  const free = maxFiles - uploadsOf(key).length;
  if (added.length > free) store.getState().notify(i18n.t("attachment.tooMany", { count: maxFiles }));
  const uploads = added.slice(0, free).map(toUpload);
  store.getState().changeUploads(key, (before) => [...before, ...uploads]);
  if (sessionId !== null) void uploadWaiting(key, sessionId);
}

function release({ id, previewUrl }: Upload): void {
  aborts.get(id)?.abort();
  aborts.delete(id);
  files.delete(id);
  if (previewUrl !== null) URL.revokeObjectURL(previewUrl);
}

export function removeUpload(key: string, upload: Upload): void {
  release(upload);
  store.getState().changeUploads(key, (uploads) => uploads.filter(({ id }) => id !== upload.id));
}

/** Takes what was uploaded out of the composer, for a message to carry. */
export function takeAttachments(key: string): readonly AttachmentRef[] {
  const uploads = uploadsOf(key);
  uploads.forEach(release);
  store.getState().changeUploads(key, () => []);
  return uploads.flatMap(({ attachment }) => attachment ?? []);
}

export function retryUpload(sessionId: string | null, upload: Upload): void {
  const key = draftKey(sessionId);
  patch(key, upload.id, { state: "waiting", progress: 0, error: null });
  if (sessionId !== null) void uploadWaiting(key, sessionId);
}

/** Uploads what waits in a composer to a session; resolves when nothing waits any more, for better or worse. */
export async function uploadWaiting(key: string, sessionId: string): Promise<void> {
  const isBusy = () => uploadsOf(key).filter(({ state }) => state === "uploading").length >= maxParallel;
  const next = () => uploadsOf(key).find(({ state }) => state === "waiting");
  const running: Promise<void>[] = [];
  for (let upload = next(); upload !== undefined && !isBusy(); upload = next()) {
    running.push(uploadOne(key, sessionId, upload.id));
  }
  await Promise.all(running);
}

async function uploadOne(key: string, sessionId: string, id: string): Promise<void> {
  const file = files.get(id);
  if (!file) {
    patch(key, id, { state: "failed", error: i18n.t("attachment.gone") });
    return;
  }
  const abort = new AbortController();
  aborts.set(id, abort);
  patch(key, id, { state: "uploading" });
  try {
    const attachment = await uploadAttachment(sessionId, file, {
      signal: abort.signal,
      onProgress: (progress) => patch(key, id, { progress }),
    });
    patch(key, id, { state: "ready", progress: 1, attachment });
  } catch (error) {
    if (!abort.signal.aborted) patch(key, id, { state: "failed", error: explain(error) });
  }
  aborts.delete(id);
  await uploadWaiting(key, sessionId);
}

function explain(error: unknown): string {
  if (!(error instanceof ApiError)) return String(error);
  if (error.status === 413) return i18n.t("attachment.tooLarge");
  if (error.code === "unreachable") return i18n.t("attachment.cutOff");
  return error.message;
}
