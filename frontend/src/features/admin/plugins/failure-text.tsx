import { CircleAlert } from "lucide-react";

import { ApiError } from "@/shared/api/api-error";
import { ErrorText } from "@/shared/ui/error-text";

/** Says what the server refused: part by part where it says so, else in its own sentence. Nothing for null. */
export function FailureText({ failure }: { readonly failure: Error | null }) {
  if (failure === null) return null;
  const faults = failure instanceof ApiError ? failure.faults : [];
  if (faults.length === 0) return <ErrorText text={failure.message} />;
  return (
    <div role="alert" className="flex gap-2 text-sm text-red">
      <CircleAlert size={16} aria-hidden className="mt-0.5 shrink-0" />
      <ul className="min-w-0 space-y-1">
        {faults.map(({ where, what }) => (
          <li key={`${where} ${what}`} className="break-words">
            <span className="font-medium">{where}</span> {what}
          </li>
        ))}
      </ul>
    </div>
  );
}
