import type { JsonObject } from "@/shared/tape/transcript";

export type Question = {
  readonly question: string;
  readonly header: string;
  readonly options: readonly { readonly label: string; readonly description: string }[];
  readonly isMultiple: boolean;
};

const text = (value: unknown) => (typeof value === "string" ? value : "");
const list = (value: unknown): readonly JsonObject[] =>
  Array.isArray(value)
    ? value.filter((entry): entry is JsonObject => typeof entry === "object" && entry !== null)
    : [];

/** The questions in the input of an `AskUserQuestion` call; what has no text is left out. */
export function toQuestions(input: JsonObject | null): readonly Question[] {
  return list(input?.["questions"])
    .map((entry) => ({
      question: text(entry["question"]),
      header: text(entry["header"]),
      options: list(entry["options"]).map((option) => ({
        label: text(option["label"]),
        description: text(option["description"]),
      })),
      isMultiple: entry["multiSelect"] === true,
    }))
    .filter(({ question }) => question !== "");
}

export type Choice = { readonly labels: readonly string[]; readonly other: string };

export const noChoice: Choice = { labels: [], other: "" };

/** One text per question, as the tool expects it: the labels that were picked, and the person's own words. */
export function toAnswer({ labels, other }: Choice): string {
  return [...labels, other.trim()].filter(Boolean).join(", ");
}

/** What was answered, read out of the sentence that the tool made of it: `"question"="answer"`. */
export function toGivenAnswer(result: string, question: string): string | null {
  const start = result.indexOf(`"${question}"="`);
  if (start < 0) return null;
  return /^([^]*?)"(?=[,.\s]|$)/.exec(result.slice(start + question.length + 4))?.[1] ?? null;
}
