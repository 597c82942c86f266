import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { useAppStore } from "@/shared/store/app-store";
import { emptyTranscript, type Transcript } from "@/shared/tape/transcript";

type Announcement = { readonly polite: string; readonly assertive: string };

function latestItem(transcript: Transcript) {
  const turn = transcript.turns[transcript.turnIds.at(-1) ?? ""];
  return transcript.items[turn?.itemKeys.at(-1) ?? ""];
}

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
        const item = latestItem(transcript);
        if (transcript.waitingKeys.length > earlier.waitingKeys.length) {
          setSaid((last) => ({ ...last, assertive: t("announce.needsYou") }));
        } else if (item && item !== earlier.items[item.key]) {
          if (item.kind === "text" && item.state === "complete") {
            setSaid({ polite: item.content, assertive: "" });
          } else if (item.kind === "tool" && item.state === "failed") {
            setSaid((last) => ({ ...last, assertive: t("announce.toolFailed", { tool: item.tool }) }));
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
