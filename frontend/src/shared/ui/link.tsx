import type { ComponentProps } from "react";

import { navigate } from "@/shared/lib/router";

type LinkProps = Omit<ComponentProps<"a">, "href"> & { readonly to: string };

/** A link inside the app; modified clicks open tabs as they always do. */
export function Link({ to, onClick, children, ...rest }: LinkProps) {
  return (
    <a
      href={to}
      onClick={(event) => {
        onClick?.(event);
        const isPlain =
          event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
        if (event.defaultPrevented || !isPlain) return;
        event.preventDefault();
        navigate(to);
      }}
      {...rest}
    >
      {children}
    </a>
  );
}
