import type { Policy, Rule } from "@/shared/api/admin";
import { i18n } from "@/shared/i18n/i18n";

/** What a rule is about: its tools, and what of a call they have to be used with. */
export function fitsOf({ tools, commands, paths, hosts }: Rule): string {
  const patterns = [...commands, ...paths, ...hosts];
  return patterns.length > 0 ? `${tools.join(" ")}: ${patterns.join(", ")}` : tools.join(" ");
}

export function forWhom({ role }: Rule): string {
  const isRole = role === "user" || role === "operator" || role === "admin";
  return i18n.t(isRole ? `admin.roles.${role}` : "admin.rules.everyone");
}

type RuleOfFile = Pick<Rule, "id" | "decision" | "reason">;

/** The rules that stand in files, which the server describes as they are written. */
export function rulesOfFiles({ policy }: Policy): readonly RuleOfFile[] {
  const { rules } = policy as { rules?: readonly RuleOfFile[] };
  return rules ?? [];
}
