import { useEffect, useState, type ReactNode, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { cardClassName, EntryFrame } from "@/features/auth/entry-frame";
import { choosePassword, setUp } from "@/shared/api/access-token";
import { formText } from "@/shared/lib/form-text";
import { navigate } from "@/shared/lib/router";
import { Button } from "@/shared/ui/button";
import { ErrorText } from "@/shared/ui/error-text";
import { TextField } from "@/shared/ui/text-field";

type LinkPageProps = {
  readonly purpose: "setup" | "choose_password";
  readonly onSignedIn: () => void;
  readonly footer?: ReactNode;
};

/** For who has a one-time link: to make the first user, or to choose a password. Its secret is behind the `#`. */
export function LinkPage({ purpose, onSignedIn, footer }: LinkPageProps) {
  const { t } = useTranslation();
  const [token] = useState(() => location.hash.slice(1));
  const [error, setError] = useState<string | null>(token === "" ? t("link.missing") : null);
  const [isSending, setIsSending] = useState(false);

  // Kept here and taken out of the address, so that it is in no history and no screenshot.
  useEffect(() => history.replaceState(null, "", location.pathname), []);

  const submit = async (form: HTMLFormElement) => {
    const password = formText(form, "new-password");
    if (password !== formText(form, "repeated-password")) {
      setError(t("link.different"));
      return;
    }
    setIsSending(true);
    setError(null);
    try {
      if (purpose === "setup") await setUp(token, formText(form, "username").trim(), password);
      else await choosePassword(token, password);
      navigate("/", { replace: true });
      onSignedIn();
    } catch (reason) {
      setError(reason instanceof Error ? reason.message : String(reason));
      setIsSending(false);
    }
  };

  return (
    <EntryFrame footer={footer}>
      <form
        className={cardClassName}
        onSubmit={(event: SyntheticEvent<HTMLFormElement>) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <h1 className="text-lg font-semibold">{t(`link.title.${purpose}`)}</h1>
        <p className="text-sm text-ink-soft">{t(`link.text.${purpose}`)}</p>
        {purpose === "setup" && (
          <TextField
            id="username"
            label={t("signIn.username")}
            autoComplete="username"
            required
            maxLength={64}
          />
        )}
        <TextField
          id="new-password"
          label={t("link.password")}
          type="password"
          autoComplete="new-password"
          minLength={8}
          required
        />
        <TextField
          id="repeated-password"
          label={t("link.repeated")}
          type="password"
          autoComplete="new-password"
          required
        />
        <ErrorText text={error} />
        <Button type="submit" look="primary" disabled={isSending || token === ""} className="h-11 w-full">
          {t(`link.submit.${purpose}`)}
        </Button>
      </form>
    </EntryFrame>
  );
}
