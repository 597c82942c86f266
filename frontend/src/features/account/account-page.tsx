import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { PasswordForm } from "@/features/account/password-form";
import { SignInList } from "@/features/account/sign-in-list";
import { SpendingNote } from "@/features/account/spending-note";
import { PluginSlot } from "@/shared/plugin-ui/plugin-slot";
import { useAppStore } from "@/shared/store/app-store";
import { PageHeader } from "@/shared/ui/page-header";

/** What a person can do about their own account. */
export function AccountPage({ start }: { readonly start: ReactNode }) {
  const { t } = useTranslation();
  const me = useAppStore((state) => state.me);
  return (
    <>
      <PageHeader title={t("account.title")} start={start} />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto w-full max-w-2xl space-y-8 px-4 py-6 sm:px-6">
          {me && (
            <p className="text-ink-soft">
              {t("account.who", { name: me.username, role: t(`admin.roles.${me.role}`) })}
            </p>
          )}
          <SpendingNote />
          {me?.has_password === true && <PasswordForm username={me.username} />}
          {me?.has_password === false && <p className="text-ink-soft">{t("account.noPassword")}</p>}
          <SignInList />
          <PluginSlot
            slot="settings-section"
            frame={(part, component) => (
              <section aria-label={part.title ?? part.plugin} className="space-y-3">
                <h2 className="font-semibold">{part.title ?? part.plugin}</h2>
                {component}
              </section>
            )}
          />
        </div>
      </div>
    </>
  );
}
