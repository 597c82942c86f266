import { setModel, setPermissionMode } from "@/features/chat/session-commands";
import { ModePicker } from "@/features/chat/settings/mode-picker";
import { ModelPicker } from "@/features/chat/settings/model-picker";
import { useAppStore } from "@/shared/store/app-store";
import { useTranscript } from "@/shared/store/use-transcript";

/** The model and the permission mode of the session on screen, as it has them now, to be changed. */
export function SessionControls({ sessionId }: { readonly sessionId: string }) {
  const settings = useTranscript((transcript) => transcript.settings);
  const facts = useAppStore((state) => state.facts[sessionId]);
  const row = useAppStore((state) => state.sessions?.find(({ id }) => id === sessionId));
  return (
    <>
      <ModePicker
        mode={settings.permissionMode ?? facts?.permissionMode ?? row?.permission_mode ?? null}
        onChange={setPermissionMode}
      />
      <ModelPicker model={settings.model ?? facts?.model ?? row?.model ?? null} onChange={setModel} />
    </>
  );
}
