import { SquarePen } from "lucide-react";
import { useCallback, useState } from "react";
import { useTranslation } from "react-i18next";

import { groupByAge } from "@/features/sessions/group-by-age";
import { SessionRow } from "@/features/sessions/session-row";
import { SessionSearch } from "@/features/sessions/session-search";
import { useSessions } from "@/features/sessions/use-sessions";
import { deleteSession, renameSession, type SessionSummary } from "@/shared/api/rest";
import { useNow } from "@/shared/hooks/use-now";
import { navigate } from "@/shared/lib/router";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";
import { ConfirmDialog } from "@/shared/ui/confirm-dialog";
import { Link } from "@/shared/ui/link";

type SessionListProps = {
  readonly currentId: string | null;
  /** Called when a session or a new chat was chosen, for the drawer to close. */
  readonly onChoose: () => void;
};

export function SessionList({ currentId, onChoose }: SessionListProps) {
  const { t } = useTranslation();
  const [query, setQuery] = useState("");
  const [doomed, setDoomed] = useState<SessionSummary | null>(null);
  const sessions = useAppStore((state) => state.sessions);
  const hasMore = useAppStore((state) => state.nextCursor !== null);
  const { hasFailed, reload, loadMore } = useSessions(query);
  const now = useNow(60_000);

  const rename = useCallback(
    (id: string, title: string) => {
      useAppStore.getState().patchSession(id, { title });
      renameSession(id, title).catch((error: unknown) => {
        useAppStore.getState().notify(error instanceof Error ? error.message : String(error));
        reload();
      });
    },
    [reload],
  );

  const confirmDelete = (session: SessionSummary) => {
    setDoomed(null);
    if (session.id === currentId) navigate("/");
    useAppStore.getState().removeSession(session.id);
    deleteSession(session.id).catch((error: unknown) => {
      useAppStore.getState().notify(error instanceof Error ? error.message : String(error));
      reload();
    });
  };

  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="space-y-2 px-3 pb-2">
        <Link
          to="/"
          onClick={onChoose}
          className="flex h-10 items-center gap-2.5 rounded-lg border border-line bg-surface px-3 text-sm font-medium shadow-sm transition-colors hover:border-line-strong"
        >
          <SquarePen size={15} aria-hidden className="text-accent" />
          {t("sessions.new")}
        </Link>
        <SessionSearch query={query} onChange={setQuery} />
      </div>
      <nav aria-label={t("sessions.heading")} className="min-h-0 flex-1 overflow-y-auto px-3 pb-4">
        {groupByAge(sessions ?? [], now).map(({ name, sessions: group }) => (
          <section key={name} className="pt-3">
            <h2 className="px-2.5 pb-1 text-xs font-medium text-ink-faint">{t(`sessions.groups.${name}`)}</h2>
            <ul>
              {group.map((session) => (
                <li key={session.id}>
                  <SessionRow
                    session={session}
                    isCurrent={session.id === currentId}
                    now={now}
                    onRename={rename}
                    onDelete={setDoomed}
                    onOpen={onChoose}
                  />
                </li>
              ))}
            </ul>
          </section>
        ))}
        <ListFoot
          text={toFootText(t, sessions, query, hasFailed)}
          retryLabel={hasFailed ? t("app.tryAgain") : null}
          onRetry={reload}
        />
        {hasMore && (
          <Button look="quiet" size="small" className="mt-2 w-full" onClick={loadMore}>
            {t("sessions.more")}
          </Button>
        )}
      </nav>
      {doomed && (
        <ConfirmDialog
          title={t("sessions.deleteQuestion")}
          text={t("sessions.deleteWarning", { title: doomed.title || t("sessions.untitled") })}
          confirmLabel={t("sessions.delete")}
          onConfirm={() => confirmDelete(doomed)}
          onClose={() => setDoomed(null)}
        />
      )}
    </div>
  );
}

type Translate = ReturnType<typeof useTranslation>["t"];

function toFootText(
  t: Translate,
  sessions: readonly SessionSummary[] | null,
  query: string,
  hasFailed: boolean,
): string | null {
  if (hasFailed) return t("sessions.failed");
  if (sessions === null || sessions.length > 0) return null;
  return query === "" ? t("sessions.empty") : t("sessions.noMatches", { query });
}

type ListFootProps = {
  readonly text: string | null;
  readonly retryLabel: string | null;
  readonly onRetry: () => void;
};

function ListFoot({ text, retryLabel, onRetry }: ListFootProps) {
  if (text === null) return null;
  return (
    <div role="status" className="space-y-2 px-2.5 pt-4 text-sm text-ink-faint">
      <p>{text}</p>
      {retryLabel && (
        <Button size="small" onClick={onRetry}>
          {retryLabel}
        </Button>
      )}
    </div>
  );
}
