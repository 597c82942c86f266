import { useEffect } from "react";

/** Calls `work` every `intervalMs` while the tab is seen, and when it is seen again. It must stay the same function. */
export function useRepeat(work: () => void, intervalMs: number): void {
  useEffect(() => {
    const workIfSeen = () => {
      if (document.visibilityState === "visible") work();
    };
    const timer = setInterval(workIfSeen, intervalMs);
    document.addEventListener("visibilitychange", workIfSeen);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", workIfSeen);
    };
  }, [work, intervalMs]);
}
