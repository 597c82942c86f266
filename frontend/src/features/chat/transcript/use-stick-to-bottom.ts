import { useCallback, useEffect, useRef, useState, type RefObject } from "react";

// Within this distance of the end a reader counts as being at the end.
const slackPx = 48;

/**
 * Keeps the end of growing content in view until the reader scrolls up, and again once they are back at the end.
 * Growth never moves a reader who has left the end.
 */
export function useStickToBottom(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
): { readonly isAtBottom: boolean; readonly jump: () => void } {
  const [isAtBottom, setIsAtBottom] = useState(true);
  const isStuck = useRef(true);

  const jump = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    isStuck.current = true;
    element.scrollTop = element.scrollHeight;
    setIsAtBottom(true);
  }, [scroller]);

  useEffect(() => {
    const element = scroller.current;
    const inner = content.current;
    if (!element || !inner) return;
    let lastTop = element.scrollTop;
    const onScroll = () => {
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < slackPx;
      // Only a movement upwards is a reader leaving: content that grows moves nothing.
      if (isNear) isStuck.current = true;
      else if (element.scrollTop < lastTop) isStuck.current = false;
      lastTop = element.scrollTop;
      setIsAtBottom(isNear || isStuck.current);
    };
    const onResize = () => {
      if (isStuck.current) element.scrollTop = element.scrollHeight;
    };
    const observer = new ResizeObserver(onResize);
    observer.observe(inner);
    observer.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", onScroll);
    };
  }, [scroller, content]);

  return { isAtBottom, jump };
}
