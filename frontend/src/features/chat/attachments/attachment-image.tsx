import { ImageOff } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { attachmentUrl } from "@/features/chat/attachments/attachment-files";
import type { AttachmentRef } from "@/shared/api/frames.gen";
import { cn } from "@/shared/lib/class-names";

// Fetched a little before it scrolls into view.
const marginPx = 300;

type AttachmentImageProps = {
  readonly sessionId: string;
  readonly attachment: AttachmentRef;
  /** Its name stands beside it. */
  readonly isDecorative?: boolean;
  readonly className?: string;
};

/** A picture of a message. Its place has its size from the beginning, so that nothing moves when it arrives. */
export function AttachmentImage({
  sessionId,
  attachment,
  isDecorative = false,
  className,
}: AttachmentImageProps) {
  const ref = useRef<HTMLSpanElement>(null);
  const [url, setUrl] = useState<string | null>(null);
  const [hasFailed, setHasFailed] = useState(false);
  const { attachment_id: id, name } = attachment;

  useEffect(() => {
    const place = ref.current;
    if (!place) return;
    let isGone = false;
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        observer.disconnect();
        attachmentUrl(sessionId, id).then(
          (found) => !isGone && setUrl(found),
          () => !isGone && setHasFailed(true),
        );
      },
      { rootMargin: `${marginPx}px` },
    );
    observer.observe(place);
    return () => {
      isGone = true;
      observer.disconnect();
    };
  }, [sessionId, id]);

  return (
    <span
      ref={ref}
      className={cn("grid place-items-center overflow-hidden bg-sunken text-ink-faint", className)}
    >
      {url !== null && (
        <img
          src={url}
          alt={isDecorative ? "" : name}
          onError={() => {
            setUrl(null);
            setHasFailed(true);
          }}
          className="size-full object-cover"
        />
      )}
      {hasFailed && <ImageOff size={16} aria-label={isDecorative ? undefined : name} />}
    </span>
  );
}
