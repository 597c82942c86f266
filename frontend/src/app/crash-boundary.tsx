import { Component, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Button } from "@/shared/ui/button";

type Props = { readonly children: ReactNode };

/** The last resort: a component threw while it was rendered. What was said is on the server, so a reload is safe. */
export class CrashBoundary extends Component<Props, { readonly hasCrashed: boolean }> {
  override readonly state = { hasCrashed: false };

  static getDerivedStateFromError(): { readonly hasCrashed: boolean } {
    return { hasCrashed: true };
  }

  override render(): ReactNode {
    return this.state.hasCrashed ? <CrashPage /> : this.props.children;
  }
}

function CrashPage() {
  const { t } = useTranslation();
  return (
    <main className="grid h-full place-items-center p-8 text-center">
      <div role="alert" className="space-y-3">
        <h1 className="text-lg font-semibold">{t("app.crashed")}</h1>
        <p className="text-ink-soft">{t("app.crashedHelp")}</p>
        <Button look="primary" onClick={() => location.reload()}>
          {t("app.reload")}
        </Button>
      </div>
    </main>
  );
}
