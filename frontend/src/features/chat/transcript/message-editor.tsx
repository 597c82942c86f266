import { CircleAlert, X } from "lucide-react";
import { useEffect, useId, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";

import { explainRefusal, replaceMessage } from "@/features/chat/session-commands";
import { FilesToo } from "@/features/chat/transcript/files-too";
import type { PersonMessage } from "@/shared/tape/transcript";
import { Button } from "@/shared/ui/button";
import { IconButton } from "@/shared/ui/icon-button";

type MessageEditorProps = { readonly message: PersonMessage; readonly onClose: () => void };

/** Edits an earlier message: the conversation goes back to before it and on from the new words. */
export function MessageEditor({ message, onClose }: MessageEditorProps) {
  const { t } = useTranslation();
  const hintId = useId();
  const fieldRef = useRef<HTMLTextAreaElement>(null);
  const [text, setText] = useState(message.text);
  const [attachments, setAttachments] = useState(message.attachments);
  const [hasFiles, setHasFiles] = useState(true);
  const [isSaving, setIsSaving] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const canSave = (text.trim() !== "" || attachments.length > 0) && !isSaving;

  useEffect(() => {
    const field = fieldRef.current;
    field?.focus();
    field?.setSelectionRange(field.value.length, field.value.length);
  }, []);
  useLayoutEffect(() => {
    const field = fieldRef.current;
    if (!field) return;
    field.style.height = "auto";
    field.style.height = `${field.scrollHeight}px`;
  }, [text]);

  const save = async () => {
    if (!canSave) return;
    setIsSaving(true);
    setError(null);
    try {
      await replaceMessage(message.seq, hasFiles, { text: text.trim(), attachments });
    } catch (refusal) {
      setError(explainRefusal(refusal));
      setIsSaving(false);
    }
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Escape") onClose();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
    else return;
    // Escape would otherwise stop the answer as well.
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <form
      aria-label={t("message.edit")}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      className="space-y-3 rounded-2xl border border-accent bg-surface p-3 shadow-raised"
    >
      {attachments.length > 0 && (
        <ul aria-label={t("attachment.list")} className="flex flex-wrap gap-2">
          {attachments.map(({ attachment_id: id, name }) => (
            <li key={id} className="flex items-center rounded-lg border border-line pl-2.5 text-[0.8125rem]">
              <span className="max-w-48 truncate">{name}</span>
              <IconButton
                className="size-7"
                label={t("attachment.removeNamed", { name })}
                onClick={() => setAttachments(attachments.filter((other) => other.attachment_id !== id))}
              >
                <X size={13} aria-hidden />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={fieldRef}
        rows={1}
        value={text}
        readOnly={isSaving}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        aria-label={t("composer.label")}
        aria-describedby={hintId}
        className="block max-h-80 w-full resize-none bg-transparent px-1 outline-none"
      />
      {error !== null && (
        <p role="alert" className="flex items-center gap-1.5 text-sm text-red">
          <CircleAlert size={14} aria-hidden className="shrink-0" />
          {error}
        </p>
      )}
      <p id={hintId} className="px-1 text-xs text-ink-faint">
        {t("rewind.editHint")}
      </p>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-1">
        <FilesToo isOn={hasFiles} onChange={setHasFiles} />
        <div className="ml-auto flex gap-2">
          <Button size="small" look="quiet" disabled={isSaving} onClick={onClose}>
            {t("rewind.cancel")}
          </Button>
          <Button size="small" look="primary" type="submit" disabled={!canSave}>
            {isSaving ? t("rewind.saving") : t("rewind.save")}
          </Button>
        </div>
      </div>
    </form>
  );
}
