import { useState, type SyntheticEvent } from "react";

import { toError } from "@/shared/lib/to-error";

type Submit = {
  /** What went wrong when it was last sent; null if nothing did. */
  readonly error: string | null;
  readonly onSubmit: (event: SyntheticEvent<HTMLFormElement>) => void;
};

/** Has a form sent by a function of ours, and keeps what that throws for people to read. */
export function useSubmit(send: (form: HTMLFormElement) => Promise<void>): Submit {
  const [error, setError] = useState<string | null>(null);
  const onSubmit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault();
    setError(null);
    send(event.currentTarget).catch((thrown: unknown) => setError(toError(thrown).message));
  };
  return { error, onSubmit };
}
