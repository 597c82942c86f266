export type ApiErrorFields = {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly retryAfterSeconds?: number | null;
};

/** The server's answer was not the one asked for. `code` is stable; `message` is the server's own sentence. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number | null;

  constructor(fields: ApiErrorFields) {
    super(fields.message);
    this.status = fields.status;
    this.code = fields.code;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
  }
}

/** Reads an `application/problem+json` answer; anything else becomes an error with the code `http_<status>`. */
export async function toApiError(response: Response): Promise<ApiError> {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const fields = { status: response.status, retryAfterSeconds: Number.isFinite(seconds) ? seconds : null };
  try {
    const problem = (await response.json()) as { code?: unknown; detail?: unknown; title?: unknown };
    const message = [problem.detail, problem.title].find((text) => typeof text === "string");
    return new ApiError({
      ...fields,
      code: typeof problem.code === "string" ? problem.code : `http_${response.status}`,
      message: message ?? response.statusText,
    });
  } catch {
    return new ApiError({ ...fields, code: `http_${response.status}`, message: response.statusText });
  }
}
