import { createElement, Suspense, use } from "react";
import { useTranslation } from "react-i18next";

import type { UiPart } from "@/shared/api/plugin-ui";
import { loadComponent, partKey } from "@/shared/plugin-ui/load-component";
import { PluginBoundary } from "@/shared/plugin-ui/plugin-boundary";
import { usePagePluginContext } from "@/shared/plugin-ui/use-plugin-context";
import { PluginContext } from "@claude-sdk-pattern/plugin-sdk";

export type PluginPartProps = {
  readonly part: UiPart;
  /** What the component gets. */
  readonly given?: Readonly<Record<string, unknown>>;
};

/** A component of a plugin in its place. Whatever it does wrong while it is loaded or rendered stays inside. */
export function PluginPart({ part, given = {} }: PluginPartProps) {
  const { t } = useTranslation();
  const context = usePagePluginContext(part.plugin, part.version);
  if (context === null) return null;
  return (
    <div data-plugin={part.plugin} data-slot={part.slot} className="min-w-0">
      <PluginBoundary
        key={partKey(part)}
        note={
          <p role="note" className="text-xs text-ink-faint">
            {t("pluginUi.failed", { plugin: part.plugin })}
          </p>
        }
      >
        <PluginContext value={context}>
          <Suspense>
            <Loaded part={part} given={given} />
          </Suspense>
        </PluginContext>
      </PluginBoundary>
    </div>
  );
}

function Loaded({ part, given }: Required<PluginPartProps>) {
  return createElement(use(loadComponent(part)), given);
}
