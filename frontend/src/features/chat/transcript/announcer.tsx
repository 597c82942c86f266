import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { useAppStore } from "@/shared/store/app-store";
import { emptyTranscript, lastStandingItem } from "@/shared/tape/transcript";

type Announcement = { readonly polite: string; readonly assertive: string };

/** Reads finished blocks out politely, and failures and questions at once. Says nothing about what is replayed. */
export function Announcer() {
  const { t } = useTranslation();
  const [said, setSaid] = useState<Announcement>({ polite: "", assertive: "" });
  useEffect(
    () =>
      useAppStore.subscribe((state, before) => {
        const id = state.sessionId ?? "";
        const transcript = state.transcripts[id] ?? emptyTranscript;
        const earlier = before.transcripts[id] ?? emptyTranscript;
        if (transcript === earlier || !before.loaded[id]) return;
        const item = lastStandingItem(transcript);
        if (transcript.waitingKeys.length > earlier.waitingKeys.length) {
          setSaid((last) => ({ ...last, assertive: t("announce.needsYou") }));
        } else if (item && item !== earlier.items[item.key]) {
          if (item.kind === "text" && item.state === "complete") {
            setSaid({ polite: item.content, assertive: "" });
          } else if (item.kind === "tool" && item.state === "failed") {
            setSaid((last) => ({ ...last, assertive: t("announce.toolFailed", { tool: item.tool }) }));
          } else if (item.kind === "error") {
            setSaid((last) => ({ ...last, assertive: t("announce.failed", { message: item.message }) }));
          } else if (item.kind === "notice" && item.message !== "") {
            setSaid({ polite: item.message, assertive: "" });
          }
        }
      }),
    [t],
  );
  return (
    <>
      <div aria-live="polite" className="sr-only">
        {said.polite}
      </div>
      <div aria-live="assertive" className="sr-only">
        {said.assertive}
      </div>
    </>
  );
}
