import { useAppStore } from "@/shared/store/app-store";
import { emptyTranscript, type StatusInfo, type Transcript } from "@/shared/tape/transcript";

/** Reads a part of the transcript on screen; select narrowly, the component renders when the part changes. */
export function useTranscript<Part>(select: (transcript: Transcript) => Part): Part {
  return useAppStore((state) => select(state.transcripts[state.sessionId ?? ""] ?? emptyTranscript));
}

/** What the session does now: the latest that its tape says, or that the server said when we connected. */
export function useStatus(): StatusInfo {
  const told = useAppStore((state) => state.facts[state.sessionId ?? ""]);
  const status = useTranscript((transcript) => transcript.status);
  if (!told || status.seq > told.lastSeq || status.name === told.status) return status;
  return { ...emptyTranscript.status, name: told.status, seq: told.lastSeq };
}
