/** Filters live in the address bar: a view can be sent to somebody, and Back goes back. */

import { useCallback, useMemo } from "react";
import { useLocation, useSearch } from "wouter";

export type Change = Record<string, string | string[] | null>;

export function useAddress(): [URLSearchParams, (change: Change) => void] {
  const [path, go] = useLocation();
  const search = useSearch();
  const asked = useMemo(() => new URLSearchParams(search), [search]);
  const change = useCallback(
    (to: Change) => {
      const next = new URLSearchParams(search);
      for (const [name, value] of Object.entries(to)) {
        next.delete(name);
        for (const one of value === null ? [] : [value].flat()) if (one !== "") next.append(name, one);
      }
      const text = next.toString();
      go(text ? `${path}?${text}` : path, { replace: true });
    },
    [go, path, search],
  );
  return [asked, change];
}
