/** One metric over time: drawn by uPlot, on the page's axis; gaps where a value is no number, lines where it restarted. */

import { useEffect, useMemo, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Series } from "../../api/client";
import { measure } from "../../format";
import { useTheme } from "../../parts/theme";
import { LEFT, RIGHT, useAxis, useHover, useWidth } from "./axis";

const HEIGHT = 132;
const FULL = 2 * Math.PI;

export interface Drawn {
  times: number[];
  values: (number | null)[];
  odd: number;
}

/** The series by time. What is not finite leaves a gap, and is counted. */
export function drawn(series: Series): Drawn {
  const order = series.at_ms.map((_, at) => at).sort((a, b) => (series.at_ms[a] ?? 0) - (series.at_ms[b] ?? 0));
  const values = order.map((at) => {
    const value = series.values[at];
    return typeof value === "number" ? value : null;
  });
  return {
    times: order.map((at) => series.at_ms[at] ?? 0),
    values,
    odd: values.filter((value) => value === null).length,
  };
}

export function Chart({ series, colour, restarts }: { series: Series; colour: string; restarts: number[] }) {
  const { range } = useAxis();
  const theme = useTheme();
  const [measureBox, width] = useWidth();
  const host = useRef<HTMLDivElement | null>(null);
  const plot = useRef<uPlot | null>(null);
  const data = useMemo(() => drawn(series), [series]);
  const current = useRef({ range, restarts });
  current.current = { range, restarts };

  useEffect(() => {
    if (!host.current || width === 0) return;
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue("--ink-3").trim();
    const line = style.getPropertyValue("--line").trim();
    const stroke = style.getPropertyValue(colour).trim();
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: "11px Inter Variable, sans-serif" };
    const made = new uPlot(
      {
        width,
        height: HEIGHT,
        ms: 1,
        padding: [6, RIGHT, 0, 0],
        cursor: { show: false },
        legend: { show: false },
        scales: { x: { time: true, range: () => [current.current.range.since, current.current.range.until] } },
        axes: [
          { ...axis, size: 22, space: 90 },
          { ...axis, size: LEFT, space: 28, values: (_, ticks) => ticks.map((tick) => measure(tick)) },
        ],
        series: [{}, { stroke, width: 1.4, points: { show: data.values.length < 60, size: 4 }, spanGaps: false }],
        hooks: { draw: [(self) => drawRestarts(self, current.current.restarts, ink)] },
      },
      [data.times, data.values],
      host.current,
    );
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [width, colour, theme]);

  useEffect(() => {
    plot.current?.setData([data.times, data.values]);
  }, [data]);
  useEffect(() => {
    plot.current?.setScale("x", { min: range.since, max: range.until });
    plot.current?.redraw();
  }, [range, restarts]);

  return (
    <figure className="chart" aria-label={`${series.name} over time, last ${measure(series.values.at(-1))}`}>
      <figcaption className="row">
        <i className="swatch" style={{ background: `var(${colour})` }} aria-hidden="true" />
        <span className="ellipsis" title={series.name}>
          {series.name}
        </span>
        <Reading series={series} data={data} />
        {data.odd > 0 && <span className="quiet">{data.odd} not finite</span>}
      </figcaption>
      <div ref={measureBox}>
        <div ref={host} />
      </div>
    </figure>
  );
}

/** The value under the pointer; without one the newest. */
function Reading({ series, data }: { series: Series; data: Drawn }) {
  const at = useHover();
  if (at === null) return <strong className="number">{measure(series.values.at(-1))}</strong>;
  const index = nearest(data.times, at);
  return <strong className="number">{index < 0 ? "–" : measure(data.values[index] ?? "not finite")}</strong>;
}

/** The index of the last time at or before `at`, or -1. */
export function nearest(times: number[], at: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function drawRestarts(plot: uPlot, restarts: number[], colour: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.fillStyle = colour;
  ctx.setLineDash([3, 3]);
  for (const at of restarts) {
    const x = Math.round(plot.valToPos(at, "x", true)) + 0.5;
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.arc(x, bbox.top + 2, 2.5, 0, FULL);
    ctx.fill();
  }
  ctx.restore();
}
