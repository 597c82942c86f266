import { X } from "lucide-react";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";

import { useAppStore } from "@/shared/store/app-store";
import { IconButton } from "@/shared/ui/icon-button";

const shownMs = 8_000;

export function NoticeToast() {
  const { t } = useTranslation();
  const notice = useAppStore((state) => state.notice);
  const dismiss = useAppStore((state) => state.dismissNotice);
  useEffect(() => {
    if (!notice) return;
    const timer = setTimeout(dismiss, shownMs);
    return () => clearTimeout(timer);
  }, [notice, dismiss]);
  return (
    <div role="alert" className="pointer-events-none fixed inset-x-0 top-16 flex justify-center px-4">
      {notice && (
        <div
          key={notice.count}
          className="pointer-events-auto flex max-w-md animate-rise items-center gap-2 rounded-xl bg-ink py-2 pr-2 pl-4 text-sm text-canvas shadow-raised"
        >
          <span className="min-w-0 break-words">{notice.text}</span>
          <IconButton
            label={t("app.dismiss")}
            onClick={dismiss}
            className="size-7 text-canvas hover:bg-white/15 hover:text-canvas dark:hover:bg-black/15"
          >
            <X size={14} aria-hidden />
          </IconButton>
        </div>
      )}
    </div>
  );
}
