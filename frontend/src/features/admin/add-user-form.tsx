import { useState } from "react";
import { useTranslation } from "react-i18next";

import { RoleSelect } from "@/features/admin/role-select";
import type { GivenLink } from "@/features/admin/users-tab";
import { addUser, type Role } from "@/shared/api/admin";
import { useSubmit } from "@/shared/hooks/use-submit";
import { formText } from "@/shared/lib/form-text";
import { Button } from "@/shared/ui/button";
import { ErrorText } from "@/shared/ui/error-text";
import { TextField } from "@/shared/ui/text-field";

/** Makes a user. They choose their password with a link, so that nobody else ever knows it. */
export function AddUserForm({ onAdded }: { readonly onAdded: (link: GivenLink | null) => void }) {
  const { t } = useTranslation();
  const [role, setRole] = useState<Role>("user");

  const { error, onSubmit } = useSubmit(async (form) => {
    const { user, link } = await addUser(formText(form, "new-user"), role);
    form.reset();
    setRole("user");
    onAdded(link && { username: user.username, link });
  });

  return (
    <form aria-label={t("admin.users.add")} className="space-y-3" onSubmit={onSubmit}>
      <div className="flex flex-wrap items-end gap-3">
        <div className="w-full max-w-xs">
          <TextField
            id="new-user"
            label={t("admin.users.newName")}
            autoComplete="off"
            required
            maxLength={64}
          />
        </div>
        <RoleSelect label={t("admin.users.newRole")} value={role} onChange={setRole} className="h-11" />
        <Button type="submit" look="primary" className="h-11">
          {t("admin.users.add")}
        </Button>
      </div>
      <ErrorText text={error} />
    </form>
  );
}
