import { CircleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";

import { TapeNode } from "@/features/chat/transcript/tape-node";
import { formatDuration } from "@/shared/lib/format";
import type { ErrorItem } from "@/shared/tape/transcript";

// The codes that can stand on a tape, as docs/protocol.md lists them.
const known = [
  "subprocess_crash",
  "session_not_recovered",
  "agent_start_failed",
  "rate_limited",
  "api_unavailable",
  "api_not_authorized",
  "api_request_refused",
  "tool_error",
] as const;

function toKnownCode(code: string): (typeof known)[number] | "other" {
  return known.find((name) => name === code) ?? "other";
}

export function ErrorCard({ error }: { readonly error: ErrorItem }) {
  const { t } = useTranslation();
  return (
    <TapeNode icon={<CircleAlert size={14} aria-hidden />} className="border-red-line text-red">
      <div className="rounded-xl border border-red-line bg-red-wash px-4 py-3">
        <p className="font-medium">{t(`error.${toKnownCode(error.code)}`)}</p>
        <p className="mt-0.5 text-sm break-words text-ink-soft">
          {error.message}
          {error.retryAfterMs !== null && (
            <span> {t("error.retryAfter", { delay: formatDuration(error.retryAfterMs) })}</span>
          )}
        </p>
      </div>
    </TapeNode>
  );
}
