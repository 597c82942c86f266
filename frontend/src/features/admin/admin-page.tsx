import { Suspense, useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";

import { adminTabs } from "@/features/admin/admin-tabs";
import { cn } from "@/shared/lib/class-names";
import { includesRole } from "@/shared/lib/roles";
import { adminPath } from "@/shared/lib/router";
import { useAppStore } from "@/shared/store/app-store";
import { Link } from "@/shared/ui/link";
import { PageHeader } from "@/shared/ui/page-header";

type AdminPageProps = { readonly tab: string | null; readonly start: React.ReactNode };

/** The administration: a row of tabs, one of them open. What a role may not see is not offered. */
export function AdminPage({ tab, start }: AdminPageProps) {
  const { t } = useTranslation();
  const role = useAppStore((state) => state.me?.role ?? "user");
  const tabs = adminTabs.filter((one) => includesRole(role, one.role));
  const current = tabs.find(({ id }) => id === tab) ?? tabs[0];
  const currentRef = useRef<HTMLAnchorElement>(null);
  const currentId = current?.id;
  // On a phone there are more tabs than fit beside each other.
  useEffect(() => {
    if (currentId) currentRef.current?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [currentId]);
  return (
    <>
      <PageHeader title={t("admin.title")} start={start} />
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto w-full max-w-5xl px-4 pb-10 sm:px-6">
          <nav aria-label={t("admin.title")} className="flex gap-1 overflow-x-auto border-b border-line pt-3">
            {tabs.map(({ id }) => (
              <Link
                key={id}
                ref={id === current?.id ? currentRef : undefined}
                to={adminPath(id)}
                aria-current={id === current?.id ? "page" : undefined}
                className={cn(
                  "-mb-px shrink-0 border-b-2 px-3 py-2 text-sm font-medium",
                  id === current?.id
                    ? "border-accent text-ink"
                    : "border-transparent text-ink-faint hover:text-ink",
                )}
              >
                {t(`admin.tabs.${id}`)}
              </Link>
            ))}
          </nav>
          {current ? (
            <Suspense fallback={<p className="py-6 text-sm text-ink-faint">{t("app.loading")}</p>}>
              <current.Page key={current.id} />
            </Suspense>
          ) : (
            <p className="py-6 text-ink-soft">{t("admin.notAllowed")}</p>
          )}
        </div>
      </div>
    </>
  );
}
