import { useEffect, useState } from "react";

import { fetchProfiles, type Profile } from "@/shared/api/rest";

/** Who an agent can be; nobody in particular until the server has said so, and if it does not. */
export function useProfiles(): readonly Profile[] {
  const [profiles, setProfiles] = useState<readonly Profile[]>([]);
  useEffect(() => {
    let isCurrent = true;
    fetchProfiles().then(
      (found) => isCurrent && setProfiles(found),
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, []);
  return profiles;
}
