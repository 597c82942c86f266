import { useCallback, useEffect, useRef, useState, type RefObject } from "react";

// Within this distance of the end a reader counts as being at the end.
const slackPx = 48;

type StickToBottom = {
  readonly scrollRef: RefObject<HTMLDivElement | null>;
  readonly contentRef: RefObject<HTMLDivElement | null>;
  readonly isAtBottom: boolean;
  readonly jump: () => void;
};

/**
 * Keeps the end of growing content in view until the reader scrolls up, and again once they are back at the end.
 * Growth never moves a reader who has left the end.
 */
export function useStickToBottom(): StickToBottom {
  const scrollRef = useRef<HTMLDivElement>(null);
  const contentRef = useRef<HTMLDivElement>(null);
  const isStuck = useRef(true);
  const [isAtBottom, setIsAtBottom] = useState(true);

  const jump = useCallback(() => {
    isStuck.current = true;
    scrollRef.current?.scrollTo({ top: scrollRef.current.scrollHeight });
    setIsAtBottom(true);
  }, []);

  useEffect(() => {
    const scroller = scrollRef.current;
    const content = contentRef.current;
    if (!scroller || !content) return;
    let lastTop = scroller.scrollTop;
    const onScroll = () => {
      const isNear = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < slackPx;
      // Only a movement upwards is a reader leaving: content that grows moves nothing.
      if (isNear) isStuck.current = true;
      else if (scroller.scrollTop < lastTop) isStuck.current = false;
      lastTop = scroller.scrollTop;
      setIsAtBottom(isStuck.current);
    };
    const observer = new ResizeObserver(() => {
      if (isStuck.current) scroller.scrollTop = scroller.scrollHeight;
    });
    observer.observe(content);
    observer.observe(scroller);
    scroller.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      observer.disconnect();
      scroller.removeEventListener("scroll", onScroll);
    };
  }, []);

  return { scrollRef, contentRef, isAtBottom, jump };
}
