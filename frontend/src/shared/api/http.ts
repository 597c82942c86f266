import { freshToken, refreshToken } from "@/shared/api/access-token";
import { ApiError, toApiError } from "@/shared/api/api-error";

type RequestOptions = {
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal;
};

function toUrl(path: string, query: RequestOptions["query"] = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value) params.set(name, value);
  const search = params.toString();
  return `/api/v1${path}${search && `?${search}`}`;
}

async function send(method: string, path: string, options: RequestOptions, token: string): Promise<Response> {
  const headers = new Headers({ authorization: `Bearer ${token}` });
  if (options.body !== undefined) headers.set("content-type", "application/json");
  try {
    return await fetch(toUrl(path, options.query), {
      method,
      headers,
      body: options.body === undefined ? null : JSON.stringify(options.body),
      signal: options.signal ?? null,
    });
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new ApiError({ status: 0, code: "unreachable", message: "The server cannot be reached." });
  }
}

/**
 * Makes a call as the person who is signed in. An access token that has just run out is renewed and the call
 * repeated, once.
 *
 * @throws {ApiError} `signed_out` when nobody is signed in.
 */
export async function withToken(call: (token: string) => Promise<Response>): Promise<Response> {
  const signedOut = () => new ApiError({ status: 401, code: "signed_out", message: "Nobody is signed in." });
  const token = await freshToken();
  if (token === null) throw signedOut();
  const response = await call(token);
  if (response.status !== 401) return response;
  const renewed = await refreshToken();
  if (renewed === null) throw signedOut();
  return call(renewed);
}

async function requestResponse(method: string, path: string, options: RequestOptions): Promise<Response> {
  const response = await withToken((token) => send(method, path, options, token));
  if (!response.ok) throw await toApiError(response);
  return response;
}

/** A file. @throws {ApiError} as `request` does. */
export async function requestBlob(path: string): Promise<Blob> {
  return (await requestResponse("GET", path, {})).blob();
}

/**
 * One call of the REST interface.
 *
 * @throws {ApiError} any answer but 2xx, with the server's stable code; `unreachable` when there was no answer,
 *   `signed_out` when nobody is signed in.
 */
export async function request<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
  const response = await requestResponse(method, path, options);
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}
