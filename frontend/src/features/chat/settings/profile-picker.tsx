import { UserRound } from "lucide-react";
import { useTranslation } from "react-i18next";

import { OptionList, type Option } from "@/features/chat/settings/option-list";
import { pickerButton, pickerPanel } from "@/features/chat/settings/picker-look";
import type { Profile } from "@/shared/api/rest";
import { Popover } from "@/shared/ui/popover";

// No profile is called so.
const nobody = "";

type ProfilePickerProps = {
  readonly profiles: readonly Profile[];
  /** Name of a profile; null for none. */
  readonly profile: string | null;
  readonly onChange: (profile: string | null) => void;
};

/** Who Claude is in a new conversation. */
export function ProfilePicker({ profiles, profile, onChange }: ProfilePickerProps) {
  const { t } = useTranslation();
  const none: Option<string> = { value: nobody, name: t("profile.none"), help: t("profile.noneHelp") };
  const chosen = profiles.find(({ name }) => name === profile);
  return (
    <Popover
      label={t("profile.label")}
      buttonClassName={pickerButton}
      panelClassName={pickerPanel}
      button={
        <>
          <UserRound size={15} aria-hidden className="shrink-0" />
          <span className="sr-only">{t("profile.label")}</span>
          <span className="truncate max-sm:sr-only">{chosen?.display_name ?? t("profile.none")}</span>
        </>
      }
    >
      {(close) => (
        <OptionList
          label={t("profile.label")}
          current={profile ?? nobody}
          options={[
            none,
            ...profiles.map(({ name, display_name, description, plugin }) => ({
              value: name,
              name: display_name,
              help: description ?? t("profile.of", { plugin }),
            })),
          ]}
          onChoose={(value) => {
            close();
            onChange(value === nobody ? null : value);
          }}
        />
      )}
    </Popover>
  );
}
