import { ApiError, toApiError } from "@/shared/api/api-error";
import type { AttachmentRef } from "@/shared/api/frames.gen";
import { withToken } from "@/shared/api/http";
import { attachmentsPath } from "@/shared/api/rest";

export type UploadOptions = {
  /** Called with the part of the file that has left this machine, from 0 to 1. */
  readonly onProgress: (progress: number) => void;
  readonly signal: AbortSignal;
};

/** `fetch` does not tell how much of a body has been sent; XMLHttpRequest does. */
function post(
  url: string,
  file: File,
  token: string,
  { onProgress, signal }: UploadOptions,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    call.open("POST", url);
    call.setRequestHeader("authorization", `Bearer ${token}`);
    call.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
    call.onload = () => {
      const retryAfter = call.getResponseHeader("retry-after");
      const headers = new Headers(retryAfter === null ? {} : { "retry-after": retryAfter });
      resolve(new Response(call.responseText, { status: call.status, headers }));
    };
    call.onerror = () =>
      reject(new ApiError({ status: 0, code: "unreachable", message: "The upload was cut off." }));
    call.onabort = () => reject(new DOMException("The upload was cancelled.", "AbortError"));
    signal.addEventListener("abort", () => call.abort());
    const body = new FormData();
    body.append("file", file, file.name);
    call.send(body);
  });
}

/**
 * Posts a file to one of the REST interface's paths and returns the answer.
 *
 * @throws {ApiError} the server did not take it, or could not be reached.
 * @throws {DOMException} `AbortError`: cancelled by `signal`.
 */
export async function uploadFile<T>(path: string, file: File, options: UploadOptions): Promise<T> {
  const url = `/api/v1${path}`;
  const response = await withToken((token) => post(url, file, token, options));
  if (!response.ok) throw await toApiError(response);
  return (await response.json()) as T;
}

/** Uploads a file to a session, for a message to carry. Throws as `uploadFile` does. */
export function uploadAttachment(
  sessionId: string,
  file: File,
  options: UploadOptions,
): Promise<AttachmentRef> {
  return uploadFile(attachmentsPath(sessionId), file, options);
}
