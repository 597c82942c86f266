import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { Logo } from "@/shared/ui/logo";

export const cardClassName = "space-y-4 rounded-2xl border border-line bg-surface p-6 shadow-raised";

type EntryFrameProps = { readonly children: ReactNode; readonly footer?: ReactNode };

/** What stands around the forms of those who are not signed in yet. */
export function EntryFrame({ children, footer }: EntryFrameProps) {
  const { t } = useTranslation();
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
        {children}
        {footer && <div className="mt-6 flex justify-center">{footer}</div>}
      </div>
    </main>
  );
}
