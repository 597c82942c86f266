import { ShieldQuestionMark } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { ExactInput } from "@/features/chat/cards/exact-input";
import { toToolName } from "@/features/chat/tools/tool-summary";
import type { JsonObject } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";

export type Question =
  | { readonly kind: "link"; readonly url: string }
  | { readonly kind: "call"; readonly tool: string; readonly input: JsonObject };

export type Answer = "yes" | "while open" | "no";

// An app knows where somebody clicks in it, and how high it is: it must not bring a button below the next click.
const settleMs = 600;

type AppQuestionProps = {
  readonly plugin: string;
  readonly question: Question;
  readonly onAnswer: (answer: Answer) => void;
};

/** What an app wants and a person decides. Outside of the app's frame, which can neither draw nor click here. */
export function AppQuestion({ plugin, question, onAnswer }: AppQuestionProps) {
  const { t } = useTranslation();
  const isSettled = useIsSettled();
  const isLink = question.kind === "link";
  const title = isLink
    ? t("pluginApp.openLink", { plugin })
    : t("pluginApp.callTool", { plugin, tool: toToolName(question.tool) });
  return (
    <section aria-label={title} className="mt-2 rounded-xl border border-amber-line bg-amber-wash p-4">
      <div className="flex items-start gap-2.5">
        <ShieldQuestionMark size={18} aria-hidden className="mt-0.5 shrink-0 text-amber" />
        <h3 className="min-w-0 flex-1 font-semibold">{title}</h3>
      </div>
      <ExactInput
        label={isLink ? t("pluginApp.linkIs") : t("pluginApp.inputIs")}
        input={isLink ? { url: question.url } : question.input}
      />
      <div className="flex flex-wrap items-center gap-2 pt-3">
        <Button size="small" look="primary" disabled={!isSettled} onClick={() => onAnswer("yes")}>
          {isLink ? t("pluginApp.open") : t("pluginApp.allow")}
        </Button>
        {!isLink && (
          <Button size="small" disabled={!isSettled} onClick={() => onAnswer("while open")}>
            {t("pluginApp.allowWhileOpen")}
          </Button>
        )}
        <Button size="small" onClick={() => onAnswer("no")}>
          {t("pluginApp.deny")}
        </Button>
      </div>
    </section>
  );
}

function useIsSettled(): boolean {
  const [isSettled, setIsSettled] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsSettled(true), settleMs);
    return () => clearTimeout(timer);
  }, []);
  return isSettled;
}
