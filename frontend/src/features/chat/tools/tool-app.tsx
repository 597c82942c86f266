import { lazy, Suspense, useEffect, useState } from "react";

import { useAppStore } from "@/shared/store/app-store";
import type { ToolItem } from "@/shared/tape/transcript";

// With it comes the library that speaks with apps.
const AppFrame = lazy(() =>
  import("@/features/chat/apps/app-frame").then((module) => ({ default: module.AppFrame })),
);

// So that it is there when somebody scrolls to it.
const margin = "600px";

/** The page that the plugin of a tool shows for a call; it is loaded when it comes near the screen. */
export function ToolApp({ item }: { readonly item: ToolItem }) {
  const sessionId = useAppStore((state) => state.sessionId);
  const { ref, isNear } = useIsNear();
  const isToBeSeen = item.state === "running" || item.state === "done" || item.state === "failed";
  if (!isToBeSeen || sessionId === null) return null;
  return (
    <div ref={ref} className="pt-2 pb-1">
      {isNear && (
        <Suspense>
          <AppFrame item={item} sessionId={sessionId} />
        </Suspense>
      )}
    </div>
  );
}

/** Whether an element has come near the screen yet. */
function useIsNear() {
  const [element, setElement] = useState<HTMLElement | null>(null);
  const [isNear, setIsNear] = useState(false);
  useEffect(() => {
    if (element === null) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setIsNear(true);
      },
      { rootMargin: margin },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return { ref: setElement, isNear };
}
