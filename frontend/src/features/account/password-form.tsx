import { useState, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { changePassword } from "@/shared/api/access-token";
import { ApiError } from "@/shared/api/api-error";
import { formText } from "@/shared/lib/form-text";
import { Button } from "@/shared/ui/button";
import { ErrorText } from "@/shared/ui/error-text";
import { TextField } from "@/shared/ui/text-field";

export function PasswordForm({ username }: { readonly username: string }) {
  const { t } = useTranslation();
  const [error, setError] = useState<string | null>(null);
  const [isDone, setIsDone] = useState(false);
  const [isSending, setIsSending] = useState(false);

  const submit = async (form: HTMLFormElement) => {
    setError(null);
    setIsDone(false);
    setIsSending(true);
    try {
      await changePassword(formText(form, "current-password"), formText(form, "new-password"));
      form.reset();
      setIsDone(true);
    } catch (reason) {
      const isWrong = reason instanceof ApiError && reason.code === "wrong_credentials";
      setError(
        isWrong ? t("account.wrongPassword") : reason instanceof Error ? reason.message : String(reason),
      );
    }
    setIsSending(false);
  };

  return (
    <section aria-labelledby="password-heading" className="space-y-3">
      <h2 id="password-heading" className="font-semibold">
        {t("account.password")}
      </h2>
      <form
        className="max-w-sm space-y-4"
        onSubmit={(event: SyntheticEvent<HTMLFormElement>) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        {/* For password managers, which otherwise would not know whose password it is. */}
        <input type="text" name="username" autoComplete="username" value={username} readOnly hidden />
        <TextField
          id="current-password"
          label={t("account.currentPassword")}
          type="password"
          autoComplete="current-password"
          required
        />
        <TextField
          id="new-password"
          label={t("account.newPassword")}
          type="password"
          autoComplete="new-password"
          minLength={8}
          required
        />
        <p className="text-sm text-ink-faint">{t("account.passwordEffect")}</p>
        <ErrorText text={error} />
        {isDone && (
          <p role="status" className="text-sm text-green">
            {t("account.passwordChanged")}
          </p>
        )}
        <Button type="submit" look="primary" disabled={isSending}>
          {t("account.changePassword")}
        </Button>
      </form>
    </section>
  );
}
