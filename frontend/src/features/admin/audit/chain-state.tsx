import { useState } from "react";
import { useTranslation } from "react-i18next";

import { checkAuditChain, fetchAuditExport, type AuditChain } from "@/shared/api/rest";
import { saveBlob } from "@/shared/lib/save-blob";
import { Button } from "@/shared/ui/button";
import { CopyButton } from "@/shared/ui/copy-button";

/** Has the chain checked when asked to, for that reads all of it, and hands out the export. */
export function ChainState() {
  const { t } = useTranslation();
  const [chain, setChain] = useState<AuditChain | null>(null);
  const [isChecking, setIsChecking] = useState(false);
  const [hasFailed, setHasFailed] = useState(false);
  const attempt = (work: Promise<unknown>) => {
    setHasFailed(false);
    work.catch(() => setHasFailed(true)).finally(() => setIsChecking(false));
  };
  const check = () => {
    setIsChecking(true);
    attempt(checkAuditChain().then(setChain));
  };
  const save = () => attempt(fetchAuditExport().then((file) => saveBlob(file, "audit.ndjson")));
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap gap-2">
        <Button size="small" onClick={check} disabled={isChecking}>
          {isChecking ? t("admin.audit.checking") : t("admin.audit.check")}
        </Button>
        <Button size="small" onClick={save}>
          {t("admin.audit.export")}
        </Button>
      </div>
      <div aria-live="polite" className="text-sm">
        {hasFailed && <p className="text-red">{t("admin.audit.failed")}</p>}
        {chain && <Outcome chain={chain} />}
      </div>
    </div>
  );
}

function Outcome({ chain }: { readonly chain: AuditChain }) {
  const { t } = useTranslation();
  if (!chain.is_intact) {
    return (
      <div className="rounded-lg border border-red-line bg-red-wash p-3 text-red">
        <p className="font-medium">{t("admin.audit.broken")}</p>
        <ul className="mt-1 list-disc pl-5">
          {chain.faults.map((fault) => (
            <li key={fault}>{fault}</li>
          ))}
        </ul>
      </div>
    );
  }
  return (
    <div className="rounded-lg border border-line bg-sunken p-3">
      <p>{t("admin.audit.intact", { count: chain.entries })}</p>
      <p className="mt-2 text-xs text-ink-faint">{t("admin.audit.anchor")}</p>
      <p className="mt-1 flex items-center gap-2">
        <code className="min-w-0 truncate text-xs">{chain.anchor}</code>
        <CopyButton text={chain.anchor} label={t("code.copyCode")} />
      </p>
    </div>
  );
}
