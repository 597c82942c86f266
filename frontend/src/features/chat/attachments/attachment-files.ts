import { fetchAttachment } from "@/shared/api/rest";

// Pictures of the conversation on screen; an older one that comes into view again is fetched again.
const maxKept = 60;
const kept = new Map<string, Promise<string>>();

/** Address of a file of a session, for an `img`. Fetched once, with the person's token; no other server is asked. */
export function attachmentUrl(sessionId: string, attachmentId: string): Promise<string> {
  const key = `${sessionId}/${attachmentId}`;
  const known = kept.get(key);
  if (known) return known;
  const url = fetchAttachment(sessionId, attachmentId).then((blob) => URL.createObjectURL(blob));
  kept.set(key, url);
  url.catch(() => kept.delete(key));
  const oldest = kept.entries().next().value;
  if (kept.size > maxKept && oldest) {
    kept.delete(oldest[0]);
    oldest[1].then(
      (old) => URL.revokeObjectURL(old),
      () => undefined,
    );
  }
  return url;
}
