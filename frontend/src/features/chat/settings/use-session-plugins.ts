import { useEffect, useState } from "react";

import { fetchSession } from "@/shared/api/rest";
import { useAppStore } from "@/shared/store/app-store";
import { useTranscript } from "@/shared/store/use-transcript";

/**
 * The plugins that the session on screen works with, by name; null until the server has said so. Asked again when one
 * was turned on or off: others may need it, and come and go with it.
 */
export function useSessionPlugins(): ReadonlySet<string> | null {
  const sessionId = useAppStore((state) => state.sessionId);
  const told = useAppStore((state) => state.facts[sessionId ?? ""]?.plugins);
  const switched = useTranscript((transcript) => transcript.settings.plugins);
  const [found, setFound] = useState<readonly string[] | null>(null);
  useEffect(() => {
    if (sessionId === null) return;
    let isCurrent = true;
    fetchSession(sessionId).then(
      ({ plugins }) => isCurrent && setFound(plugins),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [sessionId, switched]);
  const names = found ?? told;
  return names ? new Set(names) : null;
}
