import { useEffect, useId, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import { parseEditedInput, toEditable } from "@/features/chat/cards/edited-input";
import type { JsonObject } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";

type EditFormProps = {
  readonly tool: string;
  readonly input: JsonObject;
  readonly onSend: (input: JsonObject) => void;
  readonly onCancel: () => void;
};

/** The input of a call, to be changed before it runs: a command as the text it is, anything else as JSON. */
export function EditForm({ tool, input, onSend, onCancel }: EditFormProps) {
  const { t } = useTranslation();
  const [text, setText] = useState(() => toEditable(tool, input));
  const [isWrong, setIsWrong] = useState(false);
  const id = useId();
  const fieldRef = useRef<HTMLTextAreaElement>(null);
  useEffect(() => fieldRef.current?.focus(), []);
  const submit = () => {
    const edited = parseEditedInput(tool, input, text);
    if (edited === null) setIsWrong(true);
    else onSend(edited);
  };
  return (
    <form
      className="space-y-2 pt-3"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <label htmlFor={id} className="block text-xs text-ink-soft">
        {t(tool === "Bash" ? "permission.editCommand" : "permission.editInput")}
      </label>
      <textarea
        id={id}
        rows={Math.min(16, Math.max(3, text.split("\n").length))}
        value={text}
        spellCheck={false}
        aria-invalid={isWrong}
        aria-describedby={isWrong ? `${id}-error` : undefined}
        onChange={(event) => {
          setText(event.target.value);
          setIsWrong(false);
        }}
        ref={fieldRef}
        className="w-full rounded-lg border border-amber-line bg-surface px-3 py-2 font-mono text-[0.8125rem] leading-[1.55]"
      />
      {isWrong && (
        <p id={`${id}-error`} role="alert" className="text-xs font-medium text-red">
          {t("permission.editInvalid")}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        <Button type="submit" size="small" look="primary">
          {t("permission.allowEdited")}
        </Button>
        <Button size="small" look="quiet" onClick={onCancel}>
          {t("permission.cancel")}
        </Button>
      </div>
    </form>
  );
}
