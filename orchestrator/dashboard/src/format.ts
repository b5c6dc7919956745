/** Numbers, spans and moments as people read them. */

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `42 s`, `3 m 05 s`, `2 h 10 m`, `4 d 3 h`. */
export function span(ms: number): string {
  const abs = Math.max(0, ms);
  if (abs < 1_000) return `${Math.round(abs)} ms`;
  if (abs < MINUTE) return `${abs < 10_000 ? (abs / 1_000).toFixed(1) : Math.floor(abs / 1_000)} s`;
  if (abs < HOUR) return `${Math.floor(abs / MINUTE)} m ${two(Math.floor((abs % MINUTE) / 1_000))} s`;
  if (abs < DAY) return `${Math.floor(abs / HOUR)} h ${two(Math.floor((abs % HOUR) / MINUTE))} m`;
  return `${Math.floor(abs / DAY)} d ${Math.floor((abs % DAY) / HOUR)} h`;
}

/** One unit only: `42 s`, `3 m`, `2 h`, `4 d`. */
export function shortSpan(ms: number): string {
  const abs = Math.max(0, ms);
  if (abs < MINUTE) return `${Math.floor(abs / 1_000)} s`;
  if (abs < HOUR) return `${Math.floor(abs / MINUTE)} m`;
  if (abs < 2 * DAY) return `${Math.floor(abs / HOUR)} h`;
  return `${Math.floor(abs / DAY)} d`;
}

const moments = new Intl.DateTimeFormat("en-GB", {
  day: "2-digit",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});
const clocks = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const days = new Intl.DateTimeFormat("en-GB", { day: "2-digit", month: "short" });

export const moment = (ms: number): string => moments.format(ms);
export const day = (ms: number): string => days.format(ms);

/** When something will be: the time of day, with the date if that is not today. */
export function soon(ms: number, now: number): string {
  return days.format(ms) === days.format(now) ? clocks.format(ms) : `${days.format(ms)} ${clocks.format(ms)}`;
}

const counts = new Intl.NumberFormat("en-GB");
export const count = (value: number): string => counts.format(value);

/** A measured value: four digits that matter. */
export function measure(value: number | string | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  const abs = Math.abs(value);
  if (value === 0) return "0";
  if (Number.isInteger(value) && abs < 1e7) return counts.format(value);
  if (abs >= 1e6 || abs < 1e-3) return value.toExponential(2);
  return value.toPrecision(4);
}

export function bytes(value: number | null): string {
  if (value === null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  return `${(value / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}

export const percent = (share: number): string => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

export function chipHours(chipMs: number): string {
  const hours = chipMs / HOUR;
  return hours >= 100 ? counts.format(Math.round(hours)) : hours.toFixed(hours < 1 ? 2 : 1);
}

/** `job_abc123…` shortened where the name stands beside it. */
export const shortId = (id: string): string => (id.length > 12 ? `${id.slice(0, 12)}…` : id);

const two = (value: number): string => String(value).padStart(2, "0");
