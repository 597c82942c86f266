import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Countdown } from "@/features/chat/cards/countdown";
import { DecisionLine } from "@/features/chat/cards/decision-line";
import { QuestionField } from "@/features/chat/cards/question-field";
import {
  noChoice,
  toAnswer,
  toGivenAnswer,
  toQuestions,
  type Choice,
  type Question,
} from "@/features/chat/cards/questions";
import { useAnswer } from "@/features/chat/cards/use-answer";
import { ToolStateLabel } from "@/features/chat/tools/tool-state-label";
import { toResultText } from "@/features/chat/tools/tool-summary";
import type { Permission, ToolItem } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";

/** The agent's questions: a form while it waits, and afterwards what was answered. */
export function QuestionCard({ item }: { readonly item: ToolItem }) {
  const { t } = useTranslation();
  const questions = toQuestions(item.permission?.input ?? item.input);
  return (
    <div data-testid="question-card" data-state={item.state}>
      <div className="flex min-h-[1.625rem] items-center justify-between gap-2 text-sm">
        <h3 className="font-medium">{t("question.title")}</h3>
        <ToolStateLabel item={item} />
      </div>
      {item.state === "waiting" && item.permission ? (
        <QuestionForm questions={questions} permission={item.permission} />
      ) : (
        <AnsweredQuestions item={item} questions={questions} />
      )}
    </div>
  );
}

type QuestionFormProps = { readonly questions: readonly Question[]; readonly permission: Permission };

function QuestionForm({ questions, permission }: QuestionFormProps) {
  const { t } = useTranslation();
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({});
  const [isAnswered, answer] = useAnswer(permission);
  const { input, expiresAt } = permission;
  const choiceOf = (question: Question) => choices[question.question] ?? noChoice;
  const isComplete = questions.every((question) => toAnswer(choiceOf(question)) !== "");

  const submit = () => {
    const answers = Object.fromEntries(
      questions.map((question) => [question.question, toAnswer(choiceOf(question))]),
    );
    answer({ decision: "allow", updated_input: { ...input, answers } });
  };

  return (
    <form
      className="mt-2 space-y-5 rounded-xl border border-amber-line bg-amber-wash p-4"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      {questions.map((question) => (
        <QuestionField
          key={question.question}
          question={question}
          choice={choiceOf(question)}
          onChange={(choice) => setChoices({ ...choices, [question.question]: choice })}
        />
      ))}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" size="small" look="primary" disabled={!isComplete || isAnswered}>
          {isAnswered ? t("permission.answering") : t("question.submit")}
        </Button>
        <Button size="small" look="quiet" disabled={isAnswered} onClick={() => answer({ decision: "deny" })}>
          {t("question.skip")}
        </Button>
        <Countdown expiresAt={expiresAt} />
      </div>
    </form>
  );
}

type AnsweredQuestionsProps = { readonly item: ToolItem; readonly questions: readonly Question[] };

function AnsweredQuestions({ item, questions }: AnsweredQuestionsProps) {
  const result = item.result ? toResultText(item.result.content) : "";
  const answers = questions.map(({ question }) => toGivenAnswer(result, question));
  const isUnderstood = answers.some((answer) => answer !== null);
  return (
    <div className="space-y-1.5 pt-1 text-sm text-ink-soft">
      {questions.map(({ question }, index) => (
        <div key={question}>
          <p>{question}</p>
          {answers[index] && <p className="font-medium text-ink">{answers[index]}</p>}
        </div>
      ))}
      {!isUnderstood && item.state === "done" && result !== "" && (
        <p className="break-words whitespace-pre-wrap text-ink">{result}</p>
      )}
      {item.permission?.resolution && <DecisionLine resolution={item.permission.resolution} />}
    </div>
  );
}
