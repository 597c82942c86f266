import { lazy, Suspense, useEffect } from "react";
import { useTranslation } from "react-i18next";

import { CrashBoundary } from "@/app/crash-boundary";
import { loadPerson } from "@/features/auth/session-keeper";
import { SignInPage } from "@/features/auth/sign-in-page";
import { mayBeSignedIn } from "@/shared/api/access-token";
import { navigate, useRoute, type Route } from "@/shared/lib/router";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";
import { Logo } from "@/shared/ui/logo";
import { ThemeSwitch } from "@/shared/ui/theme-switch";

const loadWorkspace = () => import("@/app/workspace");
const Workspace = lazy(() => loadWorkspace().then((module) => ({ default: module.Workspace })));

// Whoever comes back is most likely still signed in: fetch the code while the cookie is being checked.
if (mayBeSignedIn()) void loadWorkspace().catch(() => undefined);

export function App() {
  return (
    <CrashBoundary>
      <Gate />
    </CrashBoundary>
  );
}

const LinkPage = lazy(() =>
  import("@/features/auth/link-page").then((module) => ({ default: module.LinkPage })),
);

/** Whether somebody came with a one-time link. It is theirs to use, whoever is signed in here. */
function isLinkPage(route: Route): route is Extract<Route, { name: "setup" | "choose_password" }> {
  return route.name === "setup" || route.name === "choose_password";
}

/** Where the person wanted to go before they were asked to sign in. Only paths of this page, never another origin. */
function toReturnPath(): string {
  const next = new URLSearchParams(location.search).get("next") ?? "/";
  return /^\/(?![/\\])/.test(next) && !next.startsWith("/login") ? next : "/";
}

function Gate() {
  const { t } = useTranslation();
  const signIn = useAppStore((state) => state.signIn);
  const route = useRoute();

  useEffect(() => void loadPerson(), []);
  useEffect(() => {
    if (signIn === "signed_in" && route.name === "sign_in") navigate(toReturnPath(), { replace: true });
    if (signIn === "signed_out" && route.name !== "sign_in" && !isLinkPage(route)) {
      const here = location.pathname;
      navigate(here === "/" ? "/login" : `/login?next=${encodeURIComponent(here)}`, { replace: true });
    }
  }, [signIn, route]);

  if (isLinkPage(route)) {
    return (
      <Suspense fallback={<Splash text={t("app.loading")} />}>
        <LinkPage purpose={route.name} onSignedIn={() => void loadPerson()} footer={<ThemeSwitch />} />
      </Suspense>
    );
  }
  switch (signIn) {
    case "unknown":
      return <Splash text={t("app.loading")} />;
    case "unreachable":
      return (
        <Splash text={t("app.unreachable")}>
          <Button onClick={() => void loadPerson()}>{t("app.tryAgain")}</Button>
        </Splash>
      );
    case "signed_out":
      return (
        <SignInPage
          onSignedIn={() => void loadPerson()}
          returnPath={toReturnPath()}
          footer={<ThemeSwitch />}
        />
      );
    case "signed_in":
      return (
        <Suspense fallback={<Splash text={t("app.loading")} />}>
          <Workspace route={route} />
        </Suspense>
      );
  }
}

type SplashProps = { readonly text: string; readonly children?: React.ReactNode };

function Splash({ text, children }: SplashProps) {
  return (
    <main className="grid h-full place-items-center">
      <div role="status" className="flex flex-col items-center gap-4 text-sm text-ink-faint">
        <Logo size={40} />
        <p>{text}</p>
        {children}
      </div>
    </main>
  );
}
