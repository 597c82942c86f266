import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useShallow } from "zustand/react/shallow";

import { Fold } from "@/features/chat/transcript/taken-back";
import { TurnView } from "@/features/chat/transcript/turn-view";
import { useAppStore } from "@/shared/store/app-store";
import { useTranscript } from "@/shared/store/use-transcript";
import { emptyTranscript, type Transcript } from "@/shared/tape/transcript";

// Turns further up are laid out only when they come into view.
const eagerTurns = 4;

const isTakenBack = ({ turns }: Transcript, id: string) => (turns[id]?.rewind ?? null) !== null;

/** A turn that stands, or neighbours that were taken back. */
type Group = { readonly turnIds: readonly string[]; readonly isTakenBack: boolean };

function toGroups(turnIds: readonly string[], takenIds: readonly string[]): readonly Group[] {
  const taken = new Set(takenIds);
  const groups: { turnIds: string[]; isTakenBack: boolean }[] = [];
  for (const id of turnIds) {
    const last = groups.at(-1);
    if (taken.has(id) && last?.isTakenBack) last.turnIds.push(id);
    else groups.push({ turnIds: [id], isTakenBack: taken.has(id) });
  }
  return groups;
}

/** The turns in order; what was taken back stands folded in its place. */
export function TurnList() {
  const turnIds = useTranscript((transcript) => transcript.turnIds);
  const takenIds = useTranscript(
    useShallow((transcript: Transcript) => transcript.turnIds.filter((id) => isTakenBack(transcript, id))),
  );
  const groups = useMemo(() => toGroups(turnIds, takenIds), [turnIds, takenIds]);
  return groups.map((group, index) =>
    group.isTakenBack ? (
      <TakenBackTurns key={group.turnIds[0]} turnIds={group.turnIds} />
    ) : (
      group.turnIds.map((id) => <TurnView key={id} turnId={id} isLazy={index < groups.length - eagerTurns} />)
    ),
  );
}

function TakenBackTurns({ turnIds }: { readonly turnIds: readonly string[] }) {
  const { t } = useTranslation();
  const transcripts = useAppStore.getState().transcripts;
  const { turns } = transcripts[useAppStore.getState().sessionId ?? ""] ?? emptyTranscript;
  const count = turnIds.filter((id) => turns[id]?.message).length;
  const hasFiles = turnIds.some((id) => turns[id]?.rewind?.hasRestoredFiles);
  const text = t("rewind.takenBack", { count: Math.max(1, count) });
  return (
    <Fold summary={hasFiles ? t("rewind.withFiles", { text }) : text}>
      {turnIds.map((id) => (
        <TurnView key={id} turnId={id} isLazy={false} />
      ))}
    </Fold>
  );
}
