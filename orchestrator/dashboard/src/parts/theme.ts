/** Light, dark, or as the system says. */

import { useSyncExternalStore } from "react";

const KEY = "podwright.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

export type Theme = "light" | "dark";

function chosen(): Theme {
  const stored = localStorage.getItem(KEY);
  if (stored === "light" || stored === "dark") return stored;
  return dark.matches ? "dark" : "light";
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = chosen();
  for (const listener of listeners) listener();
}

export function setTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme();
}

dark.addEventListener("change", applyTheme);

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, chosen);
}
