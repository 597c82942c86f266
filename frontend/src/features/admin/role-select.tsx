import { useTranslation } from "react-i18next";

import type { Role } from "@/shared/api/admin";
import { cn } from "@/shared/lib/class-names";

const roles = ["user", "operator", "admin"] as const;

type RoleSelectProps = {
  readonly label: string;
  readonly value: Role;
  readonly onChange: (role: Role) => void;
  readonly className?: string;
};

export function RoleSelect({ label, value, onChange, className }: RoleSelectProps) {
  const { t } = useTranslation();
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(roles.find((role) => role === event.target.value) ?? value)}
      className={cn("h-9 rounded-lg border border-line-strong bg-surface px-2.5 text-sm", className)}
    >
      {roles.map((role) => (
        <option key={role} value={role}>
          {t(`admin.roles.${role}`)}
        </option>
      ))}
    </select>
  );
}
