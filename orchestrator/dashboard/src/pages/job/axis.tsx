/**
 * One time axis for everything on the page of a job. Lanes and charts draw on the same stretch of time, between the same
 * left and right edges; hovering shows one moment in all of them, dragging zooms all of them.
 */

import {
  createContext,
  type PointerEvent,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { moment, span } from "../../format";

export const LEFT = 116;
export const RIGHT = 16;
const LEAST_MS = 1_000;

export interface Range {
  since: number;
  until: number;
}

interface Axis {
  whole: Range;
  range: Range;
  zoomed: boolean;
  zoom: (range: Range | null) => void;
  hover: Hover;
}

/** The moment under the pointer. Apart from React's state: what follows it is redrawn, and nothing else. */
class Hover {
  private at: number | null = null;
  private readonly listeners = new Set<() => void>();
  get = (): number | null => this.at;
  set(at: number | null): void {
    if (at === this.at) return;
    this.at = at;
    for (const listener of this.listeners) listener();
  }
  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}

const Context = createContext<Axis | null>(null);

export function useAxis(): Axis {
  const axis = useContext(Context);
  if (axis === null) throw new Error("outside of an axis");
  return axis;
}

export function useHover(): number | null {
  const { hover } = useAxis();
  return useSyncExternalStore(hover.subscribe, hover.get);
}

/** Where a moment is, as a share of the width. */
export const placeOf = (at: number, range: Range): number => (at - range.since) / (range.until - range.since);

export function TimeAxis({ whole, children }: { whole: Range; children: ReactNode }) {
  const [chosen, zoom] = useState<Range | null>(null);
  const [hover] = useState(() => new Hover());
  const range = chosen ?? whole;
  const axis = useMemo(
    () => ({ whole, range, zoomed: chosen !== null, zoom, hover }),
    [whole, range, chosen, hover],
  );
  return <Context.Provider value={axis}>{children}</Context.Provider>;
}

/** What is drawn on the axis, with the line that shows the moment under the pointer. */
export function Stack({ children }: { children: ReactNode }) {
  const { range, zoom, hover } = useAxis();
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const momentAt = useCallback(
    (x: number): number | null => {
      const bounds = box.current?.getBoundingClientRect();
      if (!bounds) return null;
      const share = (x - bounds.left - LEFT) / (bounds.width - LEFT - RIGHT);
      return share < 0 || share > 1 ? null : range.since + share * (range.until - range.since);
    },
    [range],
  );
  const onMove = (event: PointerEvent) => {
    const at = momentAt(event.clientX);
    hover.set(at);
    if (drag && at !== null) setDrag({ ...drag, to: at });
  };
  const onUp = () => {
    if (drag && Math.abs(drag.to - drag.from) > Math.max(LEAST_MS, (range.until - range.since) / 200)) {
      zoom({ since: Math.min(drag.from, drag.to), until: Math.max(drag.from, drag.to) });
    }
    setDrag(null);
  };
  return (
    <div
      ref={box}
      className="stack"
      onPointerMove={onMove}
      onPointerLeave={() => hover.set(null)}
      onPointerDown={(event) => {
        const at = momentAt(event.clientX);
        if (at === null || (event.target as HTMLElement).closest("button, a, select, input, summary")) return;
        setDrag({ from: at, to: at });
      }}
      onPointerUp={onUp}
      onDoubleClick={() => zoom(null)}
    >
      {children}
      <Crosshair />
      {drag && <Selection from={drag.from} to={drag.to} />}
    </div>
  );
}

function Crosshair() {
  const { range } = useAxis();
  const at = useHover();
  if (at === null) return null;
  const share = placeOf(at, range);
  return (
    <div className="over" aria-hidden="true">
      <div className="crosshair" style={{ left: `${share * 100}%` }}>
        <span className={share > 0.85 ? "left number" : "number"}>{moment(at)}</span>
      </div>
    </div>
  );
}

function Selection({ from, to }: { from: number; to: number }) {
  const { range } = useAxis();
  const left = placeOf(Math.min(from, to), range);
  const right = placeOf(Math.max(from, to), range);
  return (
    <div className="over" aria-hidden="true">
      <div className="selection" style={{ left: `${left * 100}%`, width: `${(right - left) * 100}%` }} />
    </div>
  );
}

/** Keys for those without a pointer: buttons that zoom and go back. */
export function ZoomBar() {
  const { range, whole, zoomed, zoom } = useAxis();
  const width = range.until - range.since;
  const around = (scale: number, shift: number) => {
    const middle = (range.since + range.until) / 2 + shift * width;
    const half = Math.max(LEAST_MS, (width * scale) / 2);
    zoom({ since: Math.max(whole.since, middle - half), until: Math.min(whole.until, middle + half) });
  };
  return (
    <div className="row zoom" role="group" aria-label="Time shown">
      <span className="quiet number">
        {moment(range.since)} to {moment(range.until)} ({span(width)})
      </span>
      <button type="button" aria-label="Earlier" disabled={!zoomed} onClick={() => around(1, -0.5)}>
        ◂
      </button>
      <button type="button" aria-label="Later" disabled={!zoomed} onClick={() => around(1, 0.5)}>
        ▸
      </button>
      <button type="button" aria-label="Zoom in" onClick={() => around(0.5, 0)}>
        +
      </button>
      <button type="button" disabled={!zoomed} onClick={() => zoom(null)}>
        All
      </button>
    </div>
  );
}

/** A row of marks and stretches, named on the left. */
export function Lane({ name, height = 22, children }: { name: string; height?: number; children: ReactNode }) {
  return (
    <div className="lane">
      <span className="lane-name ellipsis" title={name}>
        {name}
      </span>
      <div className="lane-plot" style={{ height }}>
        {children}
      </div>
    </div>
  );
}

export function Stretch(props: { since: number; until: number; kind: string; title: string; text?: string }) {
  const { range } = useAxis();
  const left = Math.max(0, placeOf(props.since, range));
  const right = Math.min(1, placeOf(props.until, range));
  if (right <= 0 || left >= 1 || right < left) return null;
  const width = `max(2px, ${(right - left) * 100}%)`;
  return (
    <span className={`stretch ${props.kind}`} style={{ left: `${left * 100}%`, width }} title={props.title}>
      {props.text}
    </span>
  );
}

export function Mark({ at, kind, title }: { at: number; kind: string; title: string }) {
  const { range } = useAxis();
  const share = placeOf(at, range);
  if (share < 0 || share > 1) return null;
  return <span className={`mark ${kind}`} style={{ left: `${share * 100}%` }} title={title} />;
}

/** The width of an element, as it is. */
export function useWidth(): [(element: HTMLElement | null) => void, number] {
  const [element, setElement] = useState<HTMLElement | null>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element) return;
    const observer = new ResizeObserver((entries) => setWidth(Math.round(entries[0]?.contentRect.width ?? 0)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return [setElement, width];
}
