import { Check, Copy } from "lucide-react";
import { useTranslation } from "react-i18next";

import { useCopy } from "@/shared/hooks/use-copy";
import { cn } from "@/shared/lib/class-names";

type CopyButtonProps = { readonly text: string; readonly label: string; readonly className?: string };

export function CopyButton({ text, label, className }: CopyButtonProps) {
  const { t } = useTranslation();
  const { isCopied, copy } = useCopy();
  const Icon = isCopied ? Check : Copy;
  return (
    <button
      type="button"
      onClick={() => copy(text)}
      aria-label={isCopied ? t("code.copied") : label}
      title={label}
      className={cn(
        "inline-flex h-7 items-center gap-1.5 rounded-md px-2 text-xs text-ink-faint transition-colors hover:bg-hover hover:text-ink",
        className,
      )}
    >
      <Icon size={13} aria-hidden />
      <span>{isCopied ? t("code.copied") : t("code.copy")}</span>
    </button>
  );
}
