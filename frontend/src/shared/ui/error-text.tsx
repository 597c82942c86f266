import { CircleAlert } from "lucide-react";

/** Says below a form what did not work; nothing while there is nothing to say. */
export function ErrorText({ text }: { readonly text: string | null }) {
  if (text === null) return null;
  return (
    <p role="alert" className="flex gap-2 text-sm text-red">
      <CircleAlert size={16} aria-hidden className="mt-0.5 shrink-0" />
      {text}
    </p>
  );
}
