/** The bar on top, the keys that work everywhere, and the page below. */

import { type ReactNode, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { Link, useLocation } from "wouter";
import { live } from "./api/live";
import { session } from "./api/session";
import icon from "./icon.svg";
import { type Keys, useKeys } from "./parts/keys";
import { useMe } from "./parts/me";
import { Dialog } from "./parts/parts";
import { setTheme, useTheme } from "./parts/theme";
import { Toasts } from "./parts/toasts";

const PAGES = [
  { path: "/", name: "Overview", key: "o" },
  { path: "/jobs", name: "Jobs", key: "j" },
  { path: "/queue", name: "Queue", key: "q" },
  { path: "/fleet", name: "Fleet", key: "f" },
  { path: "/usage", name: "Usage", key: "u" },
  { path: "/admin", name: "Admin", key: "a" },
] as const;

const KEYS_HELP: [string[], string][] = [
  [["/"], "search"],
  [["j", "k"], "next and previous row"],
  [["Enter"], "open the row"],
  [["x"], "select the row"],
  [["g", "then"], `go to a page: ${PAGES.map((page) => `${page.key} ${page.name}`).join(", ")}`],
  [["t"], "light or dark"],
  [["?"], "this list"],
];

const GO_MS = 1_500;

export function Shell({ children }: { children: ReactNode }) {
  const [path, go] = useLocation();
  const [help, setHelp] = useState(false);
  const theme = useTheme();
  const flip = () => setTheme(theme === "dark" ? "light" : "dark");
  const goes = useRef(0);
  const keys: Keys = {
    "?": () => setHelp(true),
    t: flip,
    g: () => {
      goes.current = Date.now();
    },
  };
  useKeys(keys);
  useGoing(goes, go);
  const here = PAGES.find((page) => (page.path === "/" ? path === "/" : path.startsWith(page.path)));
  useEffect(() => {
    document.title = here ? `${here.name} · Podwright` : "Podwright";
  }, [here]);
  return (
    <div className="shell">
      <header className="top">
        <Link href="/" className="brand">
          <img src={icon} width={22} height={22} alt="" />
          <span>Podwright</span>
        </Link>
        <nav aria-label="Pages">
          {PAGES.map((page) => (
            <Link key={page.path} href={page.path} aria-current={here === page ? "page" : undefined}>
              {page.name}
            </Link>
          ))}
        </nav>
        <Liveness />
        <button type="button" className="plain" aria-label="Light or dark" title="Light or dark (t)" onClick={flip}>
          <span aria-hidden="true">{theme === "dark" ? "☾" : "☀"}</span>
        </button>
        <button type="button" className="plain" aria-label="Keys" title="Keys (?)" onClick={() => setHelp(true)}>
          ?
        </button>
        <Account />
      </header>
      <main tabIndex={-1}>{children}</main>
      {help && (
        <Dialog title="Keys" onClose={() => setHelp(false)}>
          <dl className="facts">
            {KEYS_HELP.map(([pressed, does]) => (
              <div className="row" key={does}>
                <dt>
                  {pressed.map((key) => (key === "then" ? " then " : <kbd key={key}>{key}</kbd>))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
      <Toasts />
    </div>
  );
}

/** `g` and then a page's letter. It listens first, so that the letter does nothing else. */
function useGoing(begun: { current: number }, go: (path: string) => void): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (Date.now() - begun.current > GO_MS || event.key === "g") return;
      begun.current = 0;
      const page = PAGES.find((one) => one.key === event.key);
      if (!page) return;
      event.preventDefault();
      go(page.path);
    };
    window.addEventListener("keydown", onKey, { capture: true });
    return () => window.removeEventListener("keydown", onKey, { capture: true });
  }, [begun, go]);
}

function Liveness() {
  const state = useSyncExternalStore(live.watch, live.connection);
  const words = { live: "Live", connecting: "Connecting", lost: "Reconnecting" }[state];
  return (
    <span className="live" data-state={state} role="status" title={`${words}: changes appear as they happen`}>
      <i aria-hidden="true" />
      <span>{words}</span>
    </span>
  );
}

function Account() {
  const me = useMe();
  const who = me.data ? `${me.data.name}${me.data.admin ? " (admin)" : ""}` : "";
  return (
    <button type="button" className="plain" title={`Signed in as ${who}`} onClick={() => session.close()}>
      Sign out
    </button>
  );
}
