import { CircleAlert } from "lucide-react";
import { useEffect, useState, type ReactNode, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { signIn } from "@/shared/api/access-token";
import { ApiError } from "@/shared/api/api-error";
import { Button } from "@/shared/ui/button";
import { Logo } from "@/shared/ui/logo";

function useErrorText() {
  const { t } = useTranslation();
  return (error: unknown): string => {
    if (!(error instanceof ApiError)) return t("signIn.errors.other", { message: String(error) });
    if (error.code === "unreachable") return t("signIn.errors.unreachable");
    if (error.status === 429) return t("signIn.errors.tooMany");
    if (error.status === 401) return t("signIn.errors.invalid");
    return t("signIn.errors.other", { message: error.message });
  };
}

type FieldProps = {
  readonly id: string;
  readonly label: string;
  readonly type: "text" | "password";
  readonly autoComplete: string;
};

function Field({ id, label, type, autoComplete }: FieldProps) {
  return (
    <div className="space-y-1.5">
      <label htmlFor={id} className="block text-sm font-medium text-ink-soft">
        {label}
      </label>
      <input
        id={id}
        name={id}
        type={type}
        autoComplete={autoComplete}
        autoCapitalize="none"
        spellCheck={false}
        required
        className="h-11 w-full rounded-lg border border-line-strong bg-surface px-3.5"
      />
    </div>
  );
}

type SignInPageProps = { readonly onSignedIn: () => void; readonly footer?: ReactNode };

export function SignInPage({ onSignedIn, footer }: SignInPageProps) {
  const { t } = useTranslation();
  const toErrorText = useErrorText();
  const [error, setError] = useState<string | null>(null);
  const [isSending, setIsSending] = useState(false);

  useEffect(() => document.getElementById("username")?.focus(), []);

  const submit = async (form: HTMLFormElement) => {
    const fields = new FormData(form);
    const text = (name: string) => {
      const value = fields.get(name);
      return typeof value === "string" ? value : "";
    };
    setIsSending(true);
    setError(null);
    try {
      await signIn(text("username").trim(), text("password"));
      onSignedIn();
    } catch (reason) {
      setError(toErrorText(reason));
      setIsSending(false);
      form.querySelector<HTMLInputElement>("#password")?.select();
    }
  };

  return (
    <main className="grid min-h-full place-items-center px-5 py-10">
      <div className="w-full max-w-[22rem]">
        <div className="mb-8 flex flex-col items-center gap-3 text-center">
          <Logo size={44} />
          <div>
            <p className="text-[1.375rem] font-semibold tracking-[-0.015em]">{t("app.name")}</p>
            <p className="mt-0.5 text-ink-faint">{t("app.tagline")}</p>
          </div>
        </div>
        <form
          className="space-y-4 rounded-2xl border border-line bg-surface p-6 shadow-raised"
          onSubmit={(event: SyntheticEvent<HTMLFormElement>) => {
            event.preventDefault();
            void submit(event.currentTarget);
          }}
        >
          <h1 className="text-lg font-semibold">{t("signIn.title")}</h1>
          <Field id="username" label={t("signIn.username")} type="text" autoComplete="username" />
          <Field id="password" label={t("signIn.password")} type="password" autoComplete="current-password" />
          {error && (
            <p role="alert" className="flex gap-2 text-sm text-red">
              <CircleAlert size={16} aria-hidden className="mt-0.5 shrink-0" />
              {error}
            </p>
          )}
          <Button type="submit" look="primary" disabled={isSending} className="h-11 w-full">
            {isSending ? t("signIn.submitting") : t("signIn.submit")}
          </Button>
        </form>
        {footer && <div className="mt-6 flex justify-center">{footer}</div>}
      </div>
    </main>
  );
}
