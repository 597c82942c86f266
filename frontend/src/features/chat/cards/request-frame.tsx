import { ShieldQuestionMark } from "lucide-react";
import type { ReactNode } from "react";

import { RuleName } from "@/features/chat/cards/rule-name";
import type { Permission } from "@/shared/tape/transcript";

type RequestFrameProps = {
  readonly title: string;
  readonly permission: Permission;
  readonly children: ReactNode;
};

/** What all requests look like: who asks for what, and why a person is asked. */
export function RequestFrame({ title, permission, children }: RequestFrameProps) {
  return (
    <section aria-label={title} className="mt-2 rounded-xl border border-amber-line bg-amber-wash p-4">
      <div className="flex items-start gap-2.5">
        <ShieldQuestionMark size={18} aria-hidden className="mt-0.5 shrink-0 text-amber" />
        <div className="min-w-0 flex-1">
          <h3 className="font-semibold">{title}</h3>
          {permission.reason && <p className="text-sm text-ink-soft">{permission.reason}</p>}
          {permission.rule && <RuleName rule={permission.rule} />}
        </div>
      </div>
      {children}
    </section>
  );
}
