import { useEffect, useState } from "react";

/** The time in ms, renewed every `intervalMs` while `isActive`; a component that shows elapsed time renders by it. */
export function useNow(intervalMs: number, isActive = true): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isActive) return;
    const timer = setInterval(() => setNow(Date.now()), intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs, isActive]);
  return now;
}
