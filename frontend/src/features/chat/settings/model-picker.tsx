import { Cpu } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { OptionList } from "@/features/chat/settings/option-list";
import { pickerButton, pickerPanel } from "@/features/chat/settings/picker-look";
import { Button } from "@/shared/ui/button";
import { Popover } from "@/shared/ui/popover";

// Names that always mean the latest of their kind; any other model can be typed in.
const models = ["opus", "sonnet", "haiku"] as const;

type ModelPickerProps = {
  /** Null: the server's default. */
  readonly model: string | null;
  readonly onChange: (model: string) => void;
};

export function ModelPicker({ model, onChange }: ModelPickerProps) {
  const { t } = useTranslation();
  const known = models.map((value) => ({
    value: value,
    name: t(`model.${value}`),
    help: t(`model.help.${value}`),
  }));
  const isKnown = known.some(({ value }) => value === model);
  const name = known.find(({ value }) => value === model)?.name ?? model ?? t("model.default");
  const current = model !== null && !isKnown ? [{ value: model, name: model, help: null }] : [];
  return (
    <Popover
      label={t("model.label")}
      buttonClassName={pickerButton}
      panelClassName={pickerPanel}
      button={
        <>
          <Cpu size={15} aria-hidden className="shrink-0" />
          <span className="sr-only">{t("model.label")}</span>
          <span className="truncate">{name}</span>
        </>
      }
    >
      {(close) => {
        const choose = (value: string) => {
          close();
          if (value !== model) onChange(value);
        };
        return (
          <>
            <OptionList
              label={t("model.label")}
              current={model}
              options={[...current, ...known]}
              onChoose={choose}
            />
            <OtherModel onChoose={choose} />
          </>
        );
      }}
    </Popover>
  );
}

function OtherModel({ onChoose }: { readonly onChoose: (model: string) => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const name = text.trim();
  const use = () => {
    if (name !== "") onChoose(name);
  };
  // Not a form: the composer around it is one.
  return (
    <div className="mt-1 flex gap-2 border-t border-line px-1.5 pt-2.5 pb-1">
      <input
        value={text}
        aria-label={t("model.other")}
        placeholder={t("model.other")}
        spellCheck={false}
        autoCapitalize="none"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
          event.preventDefault();
          use();
        }}
        className="h-8 min-w-0 flex-1 rounded-lg border border-line-strong bg-surface px-2.5 text-[0.8125rem]"
      />
      <Button size="small" disabled={name === ""} onClick={use}>
        {t("model.use")}
      </Button>
    </div>
  );
}
