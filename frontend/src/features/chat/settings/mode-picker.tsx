import { FilePen, Hand, ListChecks, ShieldOff, type LucideIcon } from "lucide-react";
import { useTranslation } from "react-i18next";

import type { PermissionMode } from "@/features/chat/session-commands";
import { OptionList } from "@/features/chat/settings/option-list";
import { pickerButton, pickerPanel } from "@/features/chat/settings/picker-look";
import { Popover } from "@/shared/ui/popover";

const icons: Readonly<Record<PermissionMode, LucideIcon>> = {
  default: Hand,
  acceptEdits: FilePen,
  plan: ListChecks,
  dontAsk: ShieldOff,
};
const modes = Object.keys(icons) as readonly PermissionMode[];

type ModePickerProps = {
  readonly mode: string | null;
  readonly onChange: (mode: PermissionMode) => void;
};

/** What Claude may do without asking. */
export function ModePicker({ mode, onChange }: ModePickerProps) {
  const { t } = useTranslation();
  const known = modes.find((name) => name === mode);
  const Icon = icons[known ?? "default"];
  const name = known ? t(`mode.${known}`) : (mode ?? "");
  return (
    <Popover
      label={t("mode.label")}
      buttonClassName={pickerButton}
      panelClassName={pickerPanel}
      button={
        <>
          <Icon size={15} aria-hidden className="shrink-0" />
          <span className="sr-only">{t("mode.label")}</span>
          <span className="truncate max-sm:sr-only">{name}</span>
        </>
      }
    >
      {(close) => (
        <OptionList
          label={t("mode.label")}
          current={mode}
          options={modes.map((value) => {
            const ModeIcon = icons[value];
            return {
              value,
              name: t(`mode.${value}`),
              help: t(`mode.help.${value}`),
              icon: <ModeIcon size={15} aria-hidden />,
            };
          })}
          onChoose={(value) => {
            close();
            if (value !== mode) onChange(value);
          }}
        />
      )}
    </Popover>
  );
}
