import { useTranslation } from "react-i18next";

import { shortcuts, toKeyNames, type ShortcutName } from "@/app/shortcuts";
import { Button } from "@/shared/ui/button";
import { Dialog } from "@/shared/ui/dialog";

const composerKeys = {
  send: ["Enter"],
  newline: ["Shift", "Enter"],
  stop: ["Esc"],
  recall: ["↑"],
} as const;

export function ShortcutsDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation();
  const rows = [
    ...Object.entries(composerKeys).map(([name, keys]) => ({ name, keys: keys })),
    ...Object.entries(shortcuts).map(([name, shortcut]) => ({ name, keys: toKeyNames(shortcut) })),
  ];
  return (
    <Dialog title={t("shortcuts.title")} onClose={onClose}>
      <dl className="divide-y divide-line text-sm">
        {rows.map(({ name, keys }) => (
          <div key={keys.join("+")} className="flex items-center justify-between gap-4 py-2">
            <dt>{t(`shortcuts.${name as ShortcutName}`)}</dt>
            <dd className="flex shrink-0 gap-1">
              {keys.map((key) => (
                <kbd
                  key={key}
                  className="rounded-md border border-line-strong bg-sunken px-1.5 py-0.5 font-sans text-xs"
                >
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <div className="flex justify-end">
        <Button onClick={onClose}>{t("shortcuts.close")}</Button>
      </div>
    </Dialog>
  );
}
