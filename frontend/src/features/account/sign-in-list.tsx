import { useCallback } from "react";
import { useTranslation } from "react-i18next";

import { endOwnSignIn, fetchOwnSignIns } from "@/shared/api/admin";
import { usePages } from "@/shared/hooks/use-pages";
import { formatTime } from "@/shared/lib/format";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";
import { Table } from "@/shared/ui/table";

/** Where one is signed in, and the way to end what one does not recognise. */
export function SignInList() {
  const { t } = useTranslation();
  const notify = useAppStore((state) => state.notify);
  const fetchAll = useCallback(
    async () => ({ items: await fetchOwnSignIns(), next_cursor: null as string | null }),
    [],
  );
  const pages = usePages(fetchAll);
  const end = async (id: string) => {
    await endOwnSignIn(id).catch((error: unknown) =>
      notify(error instanceof Error ? error.message : String(error)),
    );
    pages.reload();
  };
  return (
    <section aria-labelledby="sign-ins-heading" className="space-y-3">
      <h2 id="sign-ins-heading" className="font-semibold">
        {t("account.signIns")}
      </h2>
      <Table
        caption={t("account.signIns")}
        headings={[
          t("account.client"),
          t("account.address"),
          t("account.lastUsed"),
          t("admin.users.actions"),
        ]}
        pages={pages}
        empty={t("account.noSignIns")}
      >
        {(one) => (
          <tr key={one.id}>
            <td className="max-w-64 px-4 py-2.5">
              <span className="line-clamp-2 break-words">
                {one.client === "" ? t("account.unknownClient") : one.client}
              </span>
            </td>
            <td className="px-4 py-2.5 whitespace-nowrap">{one.address}</td>
            <td className="px-4 py-2.5 whitespace-nowrap text-ink-soft">{formatTime(one.last_used_at)}</td>
            <td className="px-4 py-2.5 whitespace-nowrap">
              {one.is_current ? (
                <span className="text-ink-faint">{t("account.thisOne")}</span>
              ) : (
                <Button size="small" look="danger" onClick={() => void end(one.id)}>
                  {t("account.end")}
                </Button>
              )}
            </td>
          </tr>
        )}
      </Table>
    </section>
  );
}
