import { Monitor, Moon, Sun } from "lucide-react";
import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";

import { cn } from "@/shared/lib/class-names";
import { getThemeChoice, setThemeChoice, subscribeTheme, themeChoices } from "@/shared/lib/theme";

const icons = { light: Sun, dark: Moon, system: Monitor };

export function ThemeSwitch() {
  const { t } = useTranslation();
  const choice = useSyncExternalStore(subscribeTheme, getThemeChoice);
  return (
    <div role="group" aria-label={t("theme.label")} className="flex rounded-lg bg-sunken p-0.5">
      {themeChoices.map((name) => {
        const Icon = icons[name];
        return (
          <button
            key={name}
            type="button"
            aria-pressed={choice === name}
            aria-label={t(`theme.${name}`)}
            title={t(`theme.${name}`)}
            onClick={() => setThemeChoice(name)}
            className={cn(
              "grid size-7 place-items-center rounded-md transition-colors",
              choice === name ? "bg-surface text-ink shadow-sm" : "text-ink-faint hover:text-ink",
            )}
          >
            <Icon size={14} aria-hidden />
          </button>
        );
      })}
    </div>
  );
}
