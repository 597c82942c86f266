import { mayBeSignedIn, setSignedOutListener, signOut } from "@/shared/api/access-token";
import { ApiError } from "@/shared/api/api-error";
import { fetchMe } from "@/shared/api/rest";
import { useAppStore } from "@/shared/store/app-store";

/** Finds out who is signed in, with the refresh cookie if there may be one. Never throws. */
export async function loadPerson(): Promise<void> {
  const { setSignedIn, setSignIn } = useAppStore.getState();
  setSignedOutListener((wasSignedIn) => setSignIn("signed_out", wasSignedIn));
  if (!mayBeSignedIn()) {
    setSignIn("signed_out");
    return;
  }
  try {
    setSignedIn(await fetchMe());
  } catch (error) {
    const isRefused = error instanceof ApiError && (error.status === 401 || error.status === 403);
    setSignIn(isRefused ? "signed_out" : "unreachable");
  }
}

export async function leave(): Promise<void> {
  const elsewhere = useAppStore.getState().me?.end_session_url;
  await signOut();
  // A page that starts anew holds nothing of the person who left.
  location.assign(elsewhere ?? "/login");
}
