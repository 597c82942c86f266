import { useId, useRef, useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { FailureText } from "@/features/admin/plugins/failure-text";
import { useWork } from "@/features/admin/plugins/use-work";
import type { uploadMarketplace, uploadPlugin } from "@/shared/api/plugins";
import { formText } from "@/shared/lib/form-text";
import { Button } from "@/shared/ui/button";
import { TextField } from "@/shared/ui/text-field";

type ArchiveFormProps<T> = {
  /** Name of the form, and of the button that sends it. */
  readonly label: string;
  readonly help: string;
  readonly upload: (
    archive: File,
    options: Parameters<typeof uploadPlugin & typeof uploadMarketplace>[1],
  ) => Promise<T>;
  readonly onUploaded: (made: T) => void;
};

/** Uploads a zip archive, which has to be the one whose hash is given, and signed if the server demands it. */
export function ArchiveForm<T>({ label, help, upload, onUploaded }: ArchiveFormProps<T>) {
  const { t } = useTranslation();
  const id = useId();
  const [progress, setProgress] = useState<number | null>(null);
  const stopRef = useRef<AbortController>(null);
  const { isBusy, failure, run } = useWork();
  const wasStopped = failure instanceof DOMException && failure.name === "AbortError";

  const submit = async (form: HTMLFormElement) => {
    const archive = new FormData(form).get("archive");
    if (!(archive instanceof File)) return;
    const stop = new AbortController();
    stopRef.current = stop;
    setProgress(0);
    await run(async () => {
      const made = await upload(archive, {
        sha256: formText(form, `${id}-sha256`).trim(),
        signature: formText(form, `${id}-signature`).trim(),
        onProgress: setProgress,
        signal: stop.signal,
      });
      form.reset();
      onUploaded(made);
    });
    setProgress(null);
  };

  return (
    <form
      aria-label={label}
      className="space-y-3 rounded-xl border border-line bg-surface p-4"
      onSubmit={(event: SyntheticEvent<HTMLFormElement>) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      <div className="flex flex-wrap items-end gap-3">
        <label className="min-w-0 flex-1 basis-64 space-y-1.5 text-sm">
          <span className="block font-medium text-ink-soft">{t("admin.plugins.archive")}</span>
          <input
            type="file"
            name="archive"
            accept=".zip,application/zip"
            required
            className="block w-full text-ink-soft file:mr-3 file:h-10 file:rounded-lg file:border file:border-solid file:border-line-strong file:bg-surface file:px-4 file:font-medium file:text-ink"
          />
        </label>
        <Button type="submit" look="primary" disabled={isBusy}>
          {label}
        </Button>
      </div>
      <p className="text-sm text-ink-faint">{help}</p>
      <details className="text-sm">
        <summary className="w-fit cursor-pointer text-ink-soft">{t("admin.plugins.trust")}</summary>
        <div className="grid gap-3 pt-3 sm:grid-cols-2">
          <TextField
            id={`${id}-sha256`}
            label={t("admin.plugins.sha256")}
            autoComplete="off"
            pattern="\s*[0-9a-fA-F]{64}\s*"
            title={t("admin.plugins.sha256Help")}
            className="text-sm"
          />
          <TextField
            id={`${id}-signature`}
            label={t("admin.plugins.signature")}
            autoComplete="off"
            maxLength={200}
            className="text-sm"
          />
        </div>
      </details>
      {progress !== null && (
        <div className="flex items-center gap-3 text-sm text-ink-soft">
          <progress
            aria-label={t("admin.plugins.uploading")}
            value={progress}
            className="h-1.5 flex-1 accent-accent"
          />
          <span>{t(progress < 1 ? "admin.plugins.uploading" : "admin.plugins.checking")}</span>
          <Button size="small" onClick={() => stopRef.current?.abort()}>
            {t("sessions.cancel")}
          </Button>
        </div>
      )}
      <FailureText failure={wasStopped ? null : failure} />
    </form>
  );
}
