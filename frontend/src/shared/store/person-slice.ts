import type { Me } from "@/shared/api/rest";
import type { Slice } from "@/shared/store/slice";

/** Who is signed in. `unknown` lasts from the start of the page until the refresh cookie has been tried. */
export type PersonSlice = {
  readonly signIn: "unknown" | "unreachable" | "signed_in" | "signed_out";
  readonly me: Me | null;
  /** Whether the person was signed out from outside while they were here. */
  readonly hasAccessChanged: boolean;
  setSignedIn: (me: Me) => void;
  setSignIn: (signIn: "unknown" | "unreachable" | "signed_out", hasAccessChanged?: boolean) => void;
};

export const createPersonSlice: Slice<PersonSlice> = (set) => ({
  signIn: "unknown",
  me: null,
  hasAccessChanged: false,
  setSignedIn: (me) => set({ signIn: "signed_in", me, hasAccessChanged: false }),
  setSignIn: (signIn, hasAccessChanged = false) => set({ signIn, me: null, hasAccessChanged }),
});
