import { lazy, type ComponentType } from "react";

import type { Me } from "@/shared/api/rest";

export type AdminTab = {
  /** Its place in the address and its name among the texts below `admin.tabs`. */
  readonly id: "users" | "rules" | "sessions" | "processes" | "costs" | "plugins" | "audit";
  /** Who may see it; the server decides by itself and says no to others. */
  readonly role: Me["role"];
  readonly Page: ComponentType;
};

/** The tabs of the administration, in the order in which they are shown; each is code of its own. */
export const adminTabs: readonly AdminTab[] = [
  {
    id: "users",
    role: "admin",
    Page: lazy(() => import("@/features/admin/users-tab").then(({ UsersTab }) => ({ default: UsersTab }))),
  },
  {
    id: "rules",
    role: "admin",
    Page: lazy(() =>
      import("@/features/admin/rules/rules-tab").then(({ RulesTab }) => ({ default: RulesTab })),
    ),
  },
  {
    id: "sessions",
    role: "admin",
    Page: lazy(() =>
      import("@/features/admin/sessions-tab").then(({ SessionsTab }) => ({ default: SessionsTab })),
    ),
  },
  {
    id: "processes",
    role: "admin",
    Page: lazy(() =>
      import("@/features/admin/processes-tab").then(({ ProcessesTab }) => ({ default: ProcessesTab })),
    ),
  },
  {
    id: "costs",
    role: "admin",
    Page: lazy(() => import("@/features/admin/costs-tab").then(({ CostsTab }) => ({ default: CostsTab }))),
  },
  {
    id: "plugins",
    role: "operator",
    Page: lazy(() =>
      import("@/features/admin/plugins/plugins-tab").then(({ PluginsTab }) => ({ default: PluginsTab })),
    ),
  },
  {
    id: "audit",
    role: "admin",
    Page: lazy(() =>
      import("@/features/admin/audit/audit-tab").then(({ AuditTab }) => ({ default: AuditTab })),
    ),
  },
];
