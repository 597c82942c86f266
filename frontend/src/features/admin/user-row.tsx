import { useState } from "react";
import { useTranslation } from "react-i18next";

import { RoleSelect } from "@/features/admin/role-select";
import type { GivenLink } from "@/features/admin/users-tab";
import { deleteUser, endSignIns, resetPassword, updateUser, type User } from "@/shared/api/admin";
import { formatTime } from "@/shared/lib/format";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";
import { ConfirmDialog } from "@/shared/ui/confirm-dialog";

type UserRowProps = {
  readonly user: User;
  readonly onChanged: () => void;
  readonly onLink: (link: GivenLink) => void;
};

export function UserRow({ user, onChanged, onLink }: UserRowProps) {
  const { t } = useTranslation();
  const notify = useAppStore((state) => state.notify);
  const isSelf = useAppStore((state) => state.me?.id === user.id);
  const [isDeleting, setIsDeleting] = useState(false);
  const { username } = user;
  const isDisabled = user.disabled_at !== null;

  const act = async (work: () => Promise<unknown>) => {
    try {
      await work();
    } catch (error) {
      // The server's own sentence: why the last administrator stays one, for example.
      notify(error instanceof Error ? error.message : String(error));
    }
    onChanged();
  };

  return (
    <tr>
      <th scope="row" className="px-4 py-2.5 font-medium">
        {username}
        {isSelf && <span className="ml-2 text-xs font-normal text-ink-faint">{t("admin.users.you")}</span>}
      </th>
      <td className="px-4 py-2.5">
        <RoleSelect
          label={t("admin.users.roleOf", { name: username })}
          value={user.role}
          onChange={(role) => void act(() => updateUser(user.id, { role }))}
        />
      </td>
      <td className="px-4 py-2.5 whitespace-nowrap text-ink-soft">
        {user.disabled_at !== null
          ? t("admin.users.disabledSince", { time: formatTime(user.disabled_at) })
          : user.has_password
            ? t("admin.users.active")
            : t("admin.users.noPassword")}
      </td>
      <td className="px-4 py-2.5">
        <div className="flex gap-1">
          <Button
            size="small"
            look="quiet"
            aria-label={t(isDisabled ? "admin.users.enableNamed" : "admin.users.disableNamed", {
              name: username,
            })}
            onClick={() => void act(() => updateUser(user.id, { disabled: !isDisabled }))}
          >
            {t(isDisabled ? "admin.users.enable" : "admin.users.disable")}
          </Button>
          <Button
            size="small"
            look="quiet"
            aria-label={t("admin.users.resetNamed", { name: username })}
            onClick={() =>
              void act(async () => {
                onLink({ username, link: await resetPassword(user.id) });
              })
            }
          >
            {t("admin.users.reset")}
          </Button>
          <Button
            size="small"
            look="quiet"
            aria-label={t("admin.users.signOutNamed", { name: username })}
            onClick={() => void act(() => endSignIns(user.id))}
          >
            {t("admin.users.signOut")}
          </Button>
          <Button
            size="small"
            look="danger"
            aria-label={t("admin.users.deleteNamed", { name: username })}
            onClick={() => setIsDeleting(true)}
          >
            {t("admin.users.delete")}
          </Button>
        </div>
        {isDeleting && (
          <ConfirmDialog
            title={t("admin.users.deleteQuestion", { name: username })}
            text={t("admin.users.deleteWarning")}
            confirmLabel={t("admin.users.delete")}
            onClose={() => setIsDeleting(false)}
            onConfirm={() => {
              setIsDeleting(false);
              void act(() => deleteUser(user.id));
            }}
          />
        )}
      </td>
    </tr>
  );
}
