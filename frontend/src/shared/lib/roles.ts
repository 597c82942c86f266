import type { Me } from "@/shared/api/rest";

const ranks: Readonly<Record<Me["role"], number>> = { user: 0, operator: 1, admin: 2 };

/** Whether a role may do what `needed` may: each includes the ones below it. */
export function includesRole(role: Me["role"], needed: Me["role"]): boolean {
  return ranks[role] >= ranks[needed];
}
