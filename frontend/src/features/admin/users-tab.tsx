import { useState } from "react";
import { useTranslation } from "react-i18next";

import { AddUserForm } from "@/features/admin/add-user-form";
import { LinkDialog } from "@/features/admin/link-dialog";
import { UserRow } from "@/features/admin/user-row";
import { fetchUsers, type PasswordLink, type User } from "@/shared/api/admin";
import { usePages } from "@/shared/hooks/use-pages";
import { SearchField } from "@/shared/ui/search-field";
import { Table } from "@/shared/ui/table";

/** A link is shown once: it cannot be looked up again. */
export type GivenLink = { readonly username: string; readonly link: PasswordLink };

export function UsersTab() {
  const { t } = useTranslation();
  const [query, setQuery] = useState("");
  const [given, setGiven] = useState<GivenLink | null>(null);
  const pages = usePages<User>(fetchUsers, query);
  return (
    <section aria-label={t("admin.tabs.users")} className="space-y-5 py-6">
      <AddUserForm
        onAdded={(link) => {
          setGiven(link);
          pages.reload();
        }}
      />
      <SearchField label={t("admin.users.search")} value={query} onChange={setQuery} />
      <Table
        caption={t("admin.tabs.users")}
        headings={[
          t("admin.users.name"),
          t("admin.users.role"),
          t("admin.users.state"),
          t("admin.users.actions"),
        ]}
        pages={pages}
        empty={t("admin.users.none")}
      >
        {(user) => <UserRow key={user.id} user={user} onChanged={pages.reload} onLink={setGiven} />}
      </Table>
      {given && <LinkDialog given={given} onClose={() => setGiven(null)} />}
    </section>
  );
}
