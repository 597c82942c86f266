import type { TapeEvent, UnknownEvent } from "@/shared/tape/frame";

type Events = readonly (TapeEvent | UnknownEvent)[];

// Browsers give no animation frames to a hidden tab, but its title still shows what goes on.
const hiddenFlushMs = 250;

/**
 * Collects events and hands them on once per animation frame: a model that writes two hundred tokens a second
 * makes at most sixty renders of them.
 */
export class EventQueue {
  readonly #apply: (events: Events) => void;
  #waiting: (TapeEvent | UnknownEvent)[] = [];
  #cancel: (() => void) | null = null;

  constructor(apply: (events: Events) => void) {
    this.#apply = apply;
  }

  push(events: Events): void {
    this.#waiting.push(...events);
    this.#cancel ??= this.#schedule();
  }

  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    const events = this.#waiting;
    this.#waiting = [];
    if (events.length > 0) this.#apply(events);
  }

  clear(): void {
    this.#waiting = [];
    this.#cancel?.();
    this.#cancel = null;
  }

  #schedule(): () => void {
    const flush = () => this.flush();
    if (document.visibilityState === "hidden") {
      const timer = setTimeout(flush, hiddenFlushMs);
      return () => clearTimeout(timer);
    }
    const frame = requestAnimationFrame(flush);
    return () => cancelAnimationFrame(frame);
  }
}
