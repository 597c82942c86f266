import { useAppStore } from "@/shared/store/app-store";
import { emptyTranscript, type Transcript } from "@/shared/tape/transcript";

/** Reads a part of the transcript on screen; select narrowly, the component renders when the part changes. */
export function useTranscript<Part>(select: (transcript: Transcript) => Part): Part {
  return useAppStore((state) => select(state.transcripts[state.sessionId ?? ""] ?? emptyTranscript));
}
