/** Joins class names; anything falsy is left out. */
export function cn(...names: readonly (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}
