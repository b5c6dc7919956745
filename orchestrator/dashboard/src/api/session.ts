/** The token that this tab signed in with. It lives as long as the tab, and never stands in an address. */

const KEY = "podwright.token";

type Listener = () => void;
const listeners = new Set<Listener>();

export const session = {
  token(): string | null {
    return sessionStorage.getItem(KEY);
  },
  open(token: string): void {
    sessionStorage.setItem(KEY, token);
    tell();
  },
  close(): void {
    sessionStorage.removeItem(KEY);
    tell();
  },
  subscribe(listener: Listener): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
  },
};

function tell(): void {
  for (const listener of listeners) listener();
}
