import { CloudOff, LoaderCircle, RefreshCw, Wifi } from "lucide-react";
import { useEffect, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";

import { reconnectNow } from "@/features/chat/chat-controller";
import type { ConnectionState, LossReason } from "@/shared/connection/connection-state";
import { navigate } from "@/shared/lib/router";
import { useAppStore } from "@/shared/store/app-store";
import { Button } from "@/shared/ui/button";

// A blink of the network is not worth a banner.
const patienceMs = 400;
const goodNewsMs = 4_000;

/** True once the connection has been away for longer than a blink. */
function useIsAway(connection: ConnectionState): boolean {
  const isLost = connection.phase === "reconnecting" || connection.phase === "closed";
  const [isAway, setIsAway] = useState(false);
  useEffect(() => {
    if (!isLost) return;
    const timer = setTimeout(() => setIsAway(true), patienceMs);
    return () => {
      clearTimeout(timer);
      setIsAway(false);
    };
  }, [isLost]);
  return isLost && isAway;
}

function useLossText(): (reason: LossReason | null) => string | null {
  const { t } = useTranslation();
  return (reason) => {
    switch (reason) {
      case "restarting":
      case "too_slow":
      case "too_many":
      case "replaced":
      case "refused":
      case "signed_out":
        return t(`connection.${reason}`);
      case "forbidden":
      case "not_found":
        // The page itself says so.
        return null;
      default:
        return navigator.onLine ? t("connection.reconnecting") : t("connection.offline");
    }
  };
}

/** Says when what is on screen may be old, and when it is whole again. */
export function ConnectionBanner() {
  const connection = useAppStore((state) => state.connection);
  const isAway = useIsAway(connection);
  const toText = useLossText();
  const text = isAway ? toText(connection.reason) : null;
  return (
    <div role="status">{text === null ? <GoodNews /> : <BadNews connection={connection} text={text} />}</div>
  );
}

type StripProps = { readonly icon: ReactNode; readonly tone: string; readonly children: ReactNode };

function Strip({ icon, tone, children }: StripProps) {
  return (
    <div
      className={`flex min-h-10 animate-rise items-center justify-center gap-2.5 border-b px-4 py-1 text-sm ${tone}`}
    >
      {icon}
      {children}
    </div>
  );
}

function BadNews({ connection, text }: { readonly connection: ConnectionState; readonly text: string }) {
  const { t } = useTranslation();
  const isFinal = connection.phase === "closed";
  const Icon = isFinal ? CloudOff : LoaderCircle;
  return (
    <Strip
      tone="border-amber-line bg-amber-wash text-amber"
      icon={<Icon size={15} aria-hidden className={isFinal ? "shrink-0" : "shrink-0 animate-spin"} />}
    >
      <span>{text}</span>
      {connection.reason === "signed_out" ? (
        <Button size="small" look="quiet" onClick={() => navigate("/login")}>
          {t("connection.signIn")}
        </Button>
      ) : (
        <Button size="small" look="quiet" onClick={reconnectNow}>
          <RefreshCw size={13} aria-hidden />
          {isFinal ? t("connection.useHere") : t("connection.retryNow")}
        </Button>
      )}
    </Strip>
  );
}

function GoodNews() {
  const { t } = useTranslation();
  const caughtUp = useAppStore((state) => state.caughtUp);
  const setCaughtUp = useAppStore((state) => state.setCaughtUp);
  useEffect(() => {
    if (!caughtUp) return;
    const timer = setTimeout(() => setCaughtUp(null), goodNewsMs);
    return () => clearTimeout(timer);
  }, [caughtUp, setCaughtUp]);
  if (!caughtUp) return null;
  return (
    <Strip
      tone="border-line bg-accent-wash text-accent"
      icon={<Wifi size={15} aria-hidden className="shrink-0" />}
    >
      <span>
        {caughtUp.count === 0 ? t("connection.back") : t("connection.caughtUp", { count: caughtUp.count })}
      </span>
    </Strip>
  );
}
