import { useEffect, useState } from "react";

const confirmationMs = 1_600;

/** Copies text to the clipboard; `isCopied` is true for a moment afterwards. */
export function useCopy(): { readonly isCopied: boolean; readonly copy: (text: string) => void } {
  const [copiedAt, setCopiedAt] = useState(0);
  useEffect(() => {
    if (copiedAt === 0) return;
    const timer = setTimeout(() => setCopiedAt(0), confirmationMs);
    return () => clearTimeout(timer);
  }, [copiedAt]);
  const copy = (text: string) => {
    navigator.clipboard.writeText(text).then(
      () => setCopiedAt(Date.now()),
      () => undefined,
    );
  };
  return { isCopied: copiedAt !== 0, copy };
}
