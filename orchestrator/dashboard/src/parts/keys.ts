/** Keys that do something: never while somebody types, and never with a modifier held. */

import { useEffect, useRef } from "react";

export type Keys = Record<string, () => void>;

export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const on = event.target as HTMLElement;
      const typing = on.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
      if (typing || document.querySelector("dialog[open]")) return;
      const act = current.current[event.key];
      if (!act) return;
      // A focused button or link keeps what Enter and Space mean to it.
      if (event.key === "Enter" && on.closest?.("a, button")) return;
      event.preventDefault();
      act();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, []);
}
