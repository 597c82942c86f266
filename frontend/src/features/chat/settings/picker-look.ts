export const pickerButton =
  "flex h-9 min-w-0 items-center gap-1.5 rounded-full px-2.5 text-[0.8125rem] text-ink-soft transition-colors hover:bg-hover hover:text-ink aria-expanded:bg-hover aria-expanded:text-ink";

/** Over the composer, from its left edge. */
export const pickerPanel = "bottom-full left-0 mb-2 max-h-[min(26rem,60dvh)] w-80 max-w-full overflow-y-auto";
