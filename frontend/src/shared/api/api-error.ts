/** One thing that is wrong with what was sent: `where` in words, such as `days in config`. */
export type Fault = { readonly where: string; readonly what: string };

export type ApiErrorFields = {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly retryAfterSeconds?: number | null;
  readonly faults?: readonly Fault[];
};

/** The server's answer was not the one asked for. `code` is stable; `message` is the server's own sentence. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number | null;
  /** What is wrong, part by part, if the server says so. */
  readonly faults: readonly Fault[];

  constructor(fields: ApiErrorFields) {
    super(fields.message);
    this.status = fields.status;
    this.code = fields.code;
    this.retryAfterSeconds = fields.retryAfterSeconds ?? null;
    this.faults = fields.faults ?? [];
  }
}

function toFaults(errors: unknown): readonly Fault[] {
  if (!Array.isArray(errors)) return [];
  return (errors as readonly Partial<Fault>[]).map(({ where = "", what = "" }) => ({ where, what }));
}

/** Reads an `application/problem+json` answer; anything else becomes an error with the code `http_<status>`. */
export async function toApiError(response: Response): Promise<ApiError> {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const fields = { status: response.status, retryAfterSeconds: Number.isFinite(seconds) ? seconds : null };
  try {
    const problem = (await response.json()) as {
      code?: unknown;
      detail?: unknown;
      title?: unknown;
      errors?: unknown;
    };
    const message = [problem.detail, problem.title].find((text) => typeof text === "string");
    return new ApiError({
      ...fields,
      code: typeof problem.code === "string" ? problem.code : `http_${response.status}`,
      message: message ?? response.statusText,
      faults: toFaults(problem.errors),
    });
  } catch {
    return new ApiError({ ...fields, code: `http_${response.status}`, message: response.statusText });
  }
}
