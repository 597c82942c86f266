import { Search, X } from "lucide-react";
import { useTranslation } from "react-i18next";

type SessionSearchProps = { readonly query: string; readonly onChange: (query: string) => void };

/** Id of the search field, for the shortcut that goes there. */
export const sessionSearchId = "session-search";

export function SessionSearch({ query, onChange }: SessionSearchProps) {
  const { t } = useTranslation();
  return (
    <div className="relative">
      <Search
        size={14}
        aria-hidden
        className="pointer-events-none absolute top-1/2 left-3 -translate-y-1/2 text-ink-faint"
      />
      <input
        id={sessionSearchId}
        type="search"
        value={query}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" && query !== "") {
            onChange("");
            event.stopPropagation();
          }
        }}
        placeholder={t("sessions.search")}
        aria-label={t("sessions.search")}
        className="h-9 w-full rounded-lg bg-transparent pr-8 pl-9 text-sm transition-colors placeholder:text-ink-faint hover:bg-hover focus:bg-surface [&::-webkit-search-cancel-button]:hidden"
      />
      {query !== "" && (
        <button
          type="button"
          aria-label={t("sessions.clearSearch")}
          onClick={() => onChange("")}
          className="absolute top-1/2 right-1.5 grid size-6 -translate-y-1/2 place-items-center rounded text-ink-faint hover:text-ink"
        >
          <X size={13} aria-hidden />
        </button>
      )}
    </div>
  );
}
