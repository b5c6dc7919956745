/** The small things that every page is made of. Text of users' is only ever given to React as text. */

import { type ReactNode, useEffect, useRef, useSyncExternalStore } from "react";
import { ApiProblem } from "../api/client";
import { moment } from "../format";

export function State({ state, desired }: { state: string; desired?: string }) {
  const active = state === "STARTING" || state === "STOPPING";
  const asked = desired === "cancelled" && state !== "CANCELLED" ? " (cancelling)" : "";
  return (
    <span className={`state ${state}`}>
      <span className={active ? "dot pulse" : "dot"} aria-hidden="true" />
      {state.charAt(0) + state.slice(1).toLowerCase() + asked}
    </span>
  );
}

/** A moment, shown relative to now by its caller and in full on hover. */
export function When({ at, children }: { at: number; children: ReactNode }) {
  return (
    <time dateTime={new Date(at).toISOString()} title={moment(at)}>
      {children}
    </time>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Trouble({ error, what }: { error: unknown; what: string }) {
  const problem = error instanceof ApiProblem ? error : null;
  const todo =
    problem?.status === 0
      ? "Is the control plane still running? This page tries again by itself."
      : problem?.status === 404
        ? "It may be in a project that you cannot see, or the address may be mistyped."
        : problem?.status === 403
          ? "Sign in with a token that may do this, or ask an admin of the project."
          : null;
  return (
    <div className="note bad" role="alert">
      <strong>{what}</strong> {error instanceof Error ? error.message : String(error)}
      {problem && problem.faults.length > 0 && (
        <ul>
          {problem.faults.map((fault) => (
            <li key={fault.path + fault.message}>
              <code>{fault.path}</code>: {fault.message}
            </li>
          ))}
        </ul>
      )}
      {todo && <p className="quiet">{todo}</p>}
    </div>
  );
}

export function Dialog(props: { title: string; onClose: () => void; children: ReactNode; footer?: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null);
  const { onClose } = props;
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-label={props.title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === ref.current) onClose();
      }}
    >
      <header>
        <h2 className="grow">{props.title}</h2>
        <button type="button" className="plain" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      <div className="body">{props.children}</div>
      {props.footer && <footer>{props.footer}</footer>}
    </dialog>
  );
}

const ticks = new Set<() => void>();
let now = Date.now();
setInterval(() => {
  now = Date.now();
  for (const tick of ticks) tick();
}, 1_000);

/** The time, to the second. */
export function useNow(): number {
  return useSyncExternalStore(
    (tick) => {
      ticks.add(tick);
      return () => ticks.delete(tick);
    },
    () => now,
  );
}

/** The time, to the minute. */
export function useMinute(): number {
  return useSyncExternalStore(
    (tick) => {
      ticks.add(tick);
      return () => ticks.delete(tick);
    },
    () => now - (now % 60_000),
  );
}

/** Values as a line without axes; the words for it are in `label`. */
export function Sparkline({ values, label, width = 80 }: { values: number[]; label: string; width?: number }) {
  if (values.length < 2) return <span className="unseen">{label}</span>;
  const height = 20;
  const low = Math.min(...values);
  const reach = Math.max(...values) - low || 1;
  const points = values.map((value, at) => {
    const x = (at / (values.length - 1)) * width;
    return `${x.toFixed(1)},${(height - 2 - ((value - low) / reach) * (height - 4)).toFixed(1)}`;
  });
  return (
    <svg className="sparkline" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <polyline points={points.join(" ")} />
    </svg>
  );
}
