import { GitFork, Pencil, Trash2 } from "lucide-react";
import { memo, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import type { SessionSummary } from "@/shared/api/rest";
import { cn } from "@/shared/lib/class-names";
import { formatRelativeTime, formatTime } from "@/shared/lib/format";
import { sessionPath } from "@/shared/lib/router";
import { IconButton } from "@/shared/ui/icon-button";
import { Link } from "@/shared/ui/link";
import { SessionStatus } from "@/shared/ui/session-status";

export type SessionRowProps = {
  readonly session: SessionSummary;
  readonly isCurrent: boolean;
  readonly now: number;
  readonly onRename: (id: string, title: string) => void;
  readonly onDelete: (session: SessionSummary) => void;
  readonly onOpen: () => void;
};

type TitleFieldProps = {
  readonly title: string;
  readonly onDone: (title: string | null) => void;
};

function TitleField({ title, onDone }: TitleFieldProps) {
  const { t } = useTranslation();
  const fieldRef = useRef<HTMLInputElement>(null);
  useEffect(() => {
    fieldRef.current?.focus();
    fieldRef.current?.select();
  }, []);
  return (
    <input
      defaultValue={title}
      maxLength={200}
      aria-label={t("sessions.renameLabel")}
      ref={fieldRef}
      onBlur={(event) => onDone(event.currentTarget.value.trim() || null)}
      onKeyDown={(event) => {
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") event.currentTarget.blur();
        if (event.key === "Escape") onDone(null);
        event.stopPropagation();
      }}
      className="w-full rounded-lg border border-accent bg-surface px-2.5 py-1.5 text-sm"
    />
  );
}

function ForkMark() {
  const { t } = useTranslation();
  return (
    <span title={t("sessions.fork")} className="-mr-0.5 shrink-0 text-ink-faint">
      <GitFork size={13} aria-hidden />
      <span className="sr-only">{t("sessions.fork")}</span>
    </span>
  );
}

function SessionRowView({ session, isCurrent, now, onRename, onDelete, onOpen }: SessionRowProps) {
  const { t } = useTranslation();
  const [isRenaming, setIsRenaming] = useState(false);
  const title = session.title || t("sessions.untitled");
  if (isRenaming) {
    return (
      <TitleField
        title={session.title}
        onDone={(next) => {
          setIsRenaming(false);
          if (next && next !== session.title) onRename(session.id, next);
        }}
      />
    );
  }
  return (
    <div
      className={cn(
        "group relative flex items-center rounded-lg transition-colors",
        isCurrent ? "bg-hover" : "focus-within:bg-hover hover:bg-hover",
      )}
    >
      <Link
        to={sessionPath(session.id)}
        aria-current={isCurrent ? "page" : undefined}
        onClick={onOpen}
        className="flex min-w-0 flex-1 items-center gap-2 rounded-lg px-2.5 py-1.5 text-sm"
      >
        {session.forked_from !== null && <ForkMark />}
        <span className={cn("min-w-0 flex-1 truncate", isCurrent && "font-medium")}>{title}</span>
        <SessionStatus status={session.status} />
        <time
          dateTime={session.last_active_at}
          title={formatTime(session.last_active_at)}
          className="text-xs text-ink-faint tabular-nums group-focus-within:invisible group-hover:invisible touch:group-hover:visible"
        >
          {formatRelativeTime(session.last_active_at, now)}
        </time>
      </Link>
      <span
        className={cn(
          "absolute right-1 flex rounded-lg bg-hover opacity-0 group-focus-within:opacity-100 group-hover:opacity-100",
          !isCurrent && "touch:hidden",
          isCurrent && "touch:static touch:opacity-100",
        )}
      >
        <IconButton
          className="size-7"
          label={t("sessions.renameNamed", { title })}
          onClick={() => setIsRenaming(true)}
        >
          <Pencil size={13} aria-hidden />
        </IconButton>
        <IconButton
          className="size-7 hover:text-red"
          label={t("sessions.deleteNamed", { title })}
          onClick={() => onDelete(session)}
        >
          <Trash2 size={13} aria-hidden />
        </IconButton>
      </span>
    </div>
  );
}

export const SessionRow = memo(SessionRowView);
