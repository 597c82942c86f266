import { useEffect, useState } from "react";

/** A flag that falls back by itself: what was asked for and never confirmed can be asked for again. */
export function usePending(timeoutMs: number): readonly [boolean, (isPending: boolean) => void] {
  const [isPending, setIsPending] = useState(false);
  useEffect(() => {
    if (!isPending) return;
    const timer = setTimeout(() => setIsPending(false), timeoutMs);
    return () => clearTimeout(timer);
  }, [isPending, timeoutMs]);
  return [isPending, setIsPending];
}
