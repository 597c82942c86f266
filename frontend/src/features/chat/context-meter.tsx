import { useTranslation } from "react-i18next";

import { cn } from "@/shared/lib/class-names";
import { formatNumber } from "@/shared/lib/format";
import type { ContextInfo } from "@/shared/tape/transcript";

const warningPercent = 80;
const radius = 6.5;
const circumference = 2 * Math.PI * radius;

type ContextMeterProps = { readonly percent: number; readonly context: ContextInfo | null };

/** A ring that fills with the context window, and the number beside it. */
export function ContextMeter({ percent, context }: ContextMeterProps) {
  const { t } = useTranslation();
  const rounded = Math.round(percent);
  const isWarning = context?.isWarning ?? percent >= warningPercent;
  const label = t("header.context", { percent: rounded });
  const detail = [
    context &&
      t("header.contextDetail", {
        tokens: formatNumber(context.tokens),
        max: formatNumber(context.maxTokens),
      }),
    isWarning && t("header.contextWarning"),
  ];
  return (
    <span
      role="meter"
      aria-valuenow={rounded}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-label={label}
      title={[label, ...detail].filter(Boolean).join("\n")}
      className={cn("flex items-center gap-1.5", isWarning && "font-medium text-amber")}
    >
      <svg width={16} height={16} viewBox="0 0 16 16" aria-hidden className="-rotate-90">
        <circle cx={8} cy={8} r={radius} fill="none" strokeWidth={2.5} className="stroke-line" />
        <circle
          cx={8}
          cy={8}
          r={radius}
          fill="none"
          strokeWidth={2.5}
          strokeDasharray={`${(Math.min(100, percent) / 100) * circumference} ${circumference}`}
          className="stroke-current"
        />
      </svg>
      <span aria-hidden>{`${rounded}%`}</span>
    </span>
  );
}
