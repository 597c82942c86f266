import { CircleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";

import { TurnActionButton } from "@/features/chat/cards/turn-action-button";
import { TapeNode } from "@/features/chat/transcript/tape-node";
import { actionPlace } from "@/features/chat/turn-action";
import { useTranscript } from "@/shared/store/use-transcript";
import type { ErrorItem } from "@/shared/tape/transcript";

// The codes that can stand on a tape, as docs/protocol.md lists them.
const known = [
  "subprocess_crash",
  "session_not_recovered",
  "agent_start_failed",
  "crash_loop",
  "agent_silent",
  "memory_limit",
  "workspace_full",
  "sandbox_unavailable",
  "query_timeout",
  "rate_limited",
  "api_unavailable",
  "api_timeout",
  "api_no_credit",
  "conversation_too_long",
  "api_not_authorized",
  "api_request_refused",
  "memory_damaged",
  "server_busy",
  "storage_full",
  "storage_unavailable",
  "attachment_not_found",
  "structured_output_failed",
] as const;

function toKnownCode(code: string): (typeof known)[number] | "other" {
  return known.find((name) => name === code) ?? "other";
}

/** One plain sentence about what happened, the details small, and one thing to do about it. */
export function ErrorCard({ error }: { readonly error: ErrorItem }) {
  const { t } = useTranslation();
  const hasAction = useTranscript((transcript) => actionPlace(transcript, error.turnId) === error.key);
  const { code, message, retryAfterMs, ts, seq } = error;
  const title = t(`error.${toKnownCode(code)}`);
  return (
    <TapeNode icon={<CircleAlert size={14} aria-hidden />} className="border-red-line text-red">
      <div className="space-y-2.5 rounded-xl border border-red-line bg-red-wash px-4 py-3">
        <div>
          <p className="font-medium">{title}</p>
          <p className="mt-0.5 text-xs break-words text-ink-soft">
            {message !== title && `${message} `}
            <span className="text-ink-faint">{t("error.reference", { code, seq })}</span>
          </p>
        </div>
        {hasAction && (
          <TurnActionButton
            turnId={error.turnId}
            code={code}
            notBefore={retryAfterMs === null ? null : Date.parse(ts) + retryAfterMs}
          />
        )}
      </div>
    </TapeNode>
  );
}
