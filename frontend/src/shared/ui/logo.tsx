/** The mark: a tape with one event on it, and what was said beside it. */
export function Logo({ size = 24 }: { readonly size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden className="shrink-0">
      <rect width="32" height="32" rx="8" className="fill-[#0d5f57]" />
      <path d="M9 8v16" className="stroke-white" strokeWidth="2.5" strokeLinecap="round" />
      <circle cx="9" cy="16" r="3.4" className="fill-[#f2b544]" />
      <path
        d="M16 10.5h8M16 16h6M16 21.5h8"
        className="stroke-white"
        strokeWidth="2.5"
        strokeLinecap="round"
      />
    </svg>
  );
}
