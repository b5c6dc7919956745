/** What was just done, said once and then gone. */

import { useSyncExternalStore } from "react";

interface Toast {
  id: number;
  text: string;
}

const SHOWN_MS = 6_000;
let toasts: Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();

function put(next: Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

export function say(text: string): void {
  const id = ++last;
  put([...toasts, { id, text }]);
  setTimeout(() => put(toasts.filter((toast) => toast.id !== id)), SHOWN_MS);
}

export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map((toast) => (
        <div className="toast" key={toast.id}>
          {toast.text}
        </div>
      ))}
    </div>
  );
}
