import { useState } from "react";

import { toError } from "@/shared/lib/to-error";

type Work = {
  readonly isBusy: boolean;
  /** What was thrown last; null when nothing was. */
  readonly failure: Error | null;
  /** Runs something and keeps what it throws; true if it threw nothing. */
  readonly run: (work: () => Promise<unknown>) => Promise<boolean>;
};

/** Something a person asked for that takes a while and may fail, one at a time. */
export function useWork(): Work {
  const [isBusy, setIsBusy] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const run = async (work: () => Promise<unknown>) => {
    setIsBusy(true);
    setFailure(null);
    try {
      await work();
      return true;
    } catch (error) {
      setFailure(toError(error));
      return false;
    } finally {
      setIsBusy(false);
    }
  };
  return { isBusy, failure, run };
}
