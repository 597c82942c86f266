import { useEffect, useState, type ReactNode, type SyntheticEvent } from "react";
import { useTranslation } from "react-i18next";

import { cardClassName, EntryFrame } from "@/features/auth/entry-frame";
import { signIn, signInWithProvider } from "@/shared/api/access-token";
import { ApiError } from "@/shared/api/api-error";
import { fetchSignInMethods } from "@/shared/api/rest";
import { formText } from "@/shared/lib/form-text";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";
import { ErrorText } from "@/shared/ui/error-text";
import { TextField } from "@/shared/ui/text-field";

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

/** Why the identity provider's answer led to nothing, by the code in the address. */
function useProviderProblem(): string | null {
  const { t } = useTranslation();
  const code = new URLSearchParams(location.search).get("problem");
  if (code === null) return null;
  const known = problems.find((problem) => problem === code);
  return t(`signIn.provider.${known ?? "oidc_rejected"}`);
}

const problems = [
  "oidc_unreachable",
  "oidc_misconfigured",
  "oidc_rejected",
  "oidc_denied",
  "oidc_expired",
  "oidc_not_allowed",
  "oidc_unknown_user",
  "oidc_disabled",
  "oidc_no_username",
] as const;

/** Name of the identity provider; null while that is not known, and where there is none. */
function useProvider(): string | null {
  const [provider, setProvider] = useState<string | null>(null);
  useEffect(() => {
    // Without an answer the password is still a way in.
    fetchSignInMethods().then(
      (methods) => setProvider(methods.provider),
      () => undefined,
    );
  }, []);
  return provider;
}

type SignInPageProps = {
  readonly onSignedIn: () => void;
  /** Where the person wanted to go. */
  readonly returnPath: string;
  readonly footer?: ReactNode;
};

export function SignInPage({ onSignedIn, returnPath, footer }: SignInPageProps) {
  const { t } = useTranslation();
  const toErrorText = useErrorText();
  const providerProblem = useProviderProblem();
  const provider = useProvider();
  const hasAccessChanged = useAppStore((state) => state.hasAccessChanged);
  const [error, setError] = useState<string | null>(providerProblem);
  const [isSending, setIsSending] = useState(false);

  useEffect(() => document.getElementById("username")?.focus(), []);

  const submit = async (form: HTMLFormElement) => {
    setIsSending(true);
    setError(null);
    try {
      await signIn(formText(form, "username").trim(), formText(form, "password"));
      onSignedIn();
    } catch (reason) {
      setError(toErrorText(reason));
      setIsSending(false);
      form.querySelector<HTMLInputElement>("#password")?.select();
    }
  };

  return (
    <EntryFrame footer={footer}>
      {hasAccessChanged && (
        <p
          role="alert"
          className="mb-4 rounded-xl border border-amber-line bg-amber-wash px-4 py-3 text-sm text-amber"
        >
          {t("signIn.accessChanged")}
        </p>
      )}
      <form
        className={cardClassName}
        onSubmit={(event: SyntheticEvent<HTMLFormElement>) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        <h1 className="text-lg font-semibold">{t("signIn.title")}</h1>
        <TextField id="username" label={t("signIn.username")} autoComplete="username" required />
        <TextField
          id="password"
          label={t("signIn.password")}
          type="password"
          autoComplete="current-password"
          required
        />
        <ErrorText text={error} />
        <Button type="submit" look="primary" disabled={isSending} className="h-11 w-full">
          {isSending ? t("signIn.submitting") : t("signIn.submit")}
        </Button>
        {provider !== null && (
          <Button className="h-11 w-full" onClick={() => signInWithProvider(returnPath)}>
            {t("signIn.with", { provider })}
          </Button>
        )}
      </form>
    </EntryFrame>
  );
}
