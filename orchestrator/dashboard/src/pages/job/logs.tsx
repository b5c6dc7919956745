/** The output of one rank, live, in its colours. Whatever it holds is text: colours become classes, markup stays what it is. */

import Anser, { type AnserJsonEntry } from "anser";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef, useState } from "react";
import { ApiProblem, body, http } from "../../api/client";
import { session } from "../../api/session";
import { count } from "../../format";
import { Trouble } from "../../parts/parts";

const PART = 1 << 18;
const POLL_MS = 1_000;
const KEPT = 50_000;
const HEIGHT = 18;

type Stream = "stdout" | "stderr";

interface Log {
  lines: string[];
  dropped: number;
  ended: boolean;
  error: unknown;
}

const NOTHING: Log = { lines: [], dropped: 0, ended: false, error: null };

function useLog(job: string, attempt: number | null, rank: number, stream: Stream): Log {
  const [log, setLog] = useState(NOTHING);
  useEffect(() => {
    setLog(NOTHING);
    if (attempt === null) return;
    let stopped = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const decoder = new TextDecoder();
    let offset = 0;
    let torn = "";
    let lines: string[] = [];
    let dropped = 0;
    const read = async () => {
      const query = { attempt, rank, stream, offset, limit: PART };
      try {
        const part = await body(http.GET("/api/v1/jobs/{job}/logs", { params: { path: { job }, query } }));
        if (stopped) return;
        const bytes = Uint8Array.from(atob(part.data), (char) => char.charCodeAt(0));
        const fresh = (torn + decoder.decode(bytes, { stream: true })).split("\n");
        torn = fresh.pop() ?? "";
        lines = lines.concat(fresh.map((line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1)));
        if (lines.length > KEPT) {
          dropped += lines.length - KEPT;
          lines = lines.slice(-KEPT);
        }
        offset = part.next_offset;
        setLog({ lines: torn ? [...lines, torn] : lines, dropped, ended: part.ended, error: null });
        if (!part.ended) timer = setTimeout(read, bytes.length === PART ? 0 : POLL_MS);
      } catch (error) {
        if (stopped) return;
        setLog((old) => ({ ...old, error }));
        if (error instanceof ApiProblem && error.status === 0) timer = setTimeout(read, 5 * POLL_MS);
      }
    };
    void read();
    return () => {
      stopped = true;
      clearTimeout(timer);
    };
  }, [job, attempt, rank, stream]);
  return log;
}

interface Props {
  job: string;
  attempts: { number: number; ranks: number[] }[];
}

export function Logs({ job, attempts }: Props) {
  const [chosen, setChosen] = useState<number | null>(null);
  const [rank, setRank] = useState(0);
  const [stream, setStream] = useState<Stream>("stdout");
  const [search, setSearch] = useState("");
  const [follow, setFollow] = useState(true);
  const newest = attempts.at(-1)?.number ?? null;
  const attempt = chosen ?? newest;
  const log = useLog(job, attempt, rank, stream);
  const ranks = attempts.find((one) => one.number === attempt)?.ranks ?? [0];
  const wanted = search.toLowerCase();
  const shown = useMemo(
    () => (wanted ? log.lines.filter((line) => line.toLowerCase().includes(wanted)) : log.lines),
    [log.lines, wanted],
  );
  if (attempt === null) return <p className="quiet body">There is no output yet: no attempt has begun.</p>;
  return (
    <>
      <div className="row wrap log-bar">
        <select aria-label="Attempt" value={attempt} onChange={(event) => setChosen(Number(event.target.value))}>
          {attempts.map((one) => (
            <option key={one.number} value={one.number}>
              attempt {one.number}
            </option>
          ))}
        </select>
        <select aria-label="Rank" value={rank} onChange={(event) => setRank(Number(event.target.value))}>
          {(ranks.length ? ranks : [0]).map((one) => (
            <option key={one} value={one}>
              rank {one}
            </option>
          ))}
        </select>
        <select aria-label="Stream" value={stream} onChange={(event) => setStream(event.target.value as Stream)}>
          <option>stdout</option>
          <option>stderr</option>
        </select>
        <input
          type="search"
          aria-label="Search the output"
          placeholder="Search"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <span className="quiet number" role="status">
          {count(shown.length)} {wanted ? `of ${count(log.lines.length)} lines` : "lines"}
          {log.dropped > 0 && `, ${count(log.dropped)} older ones only in the download`}
          {log.ended ? ", complete" : ", live"}
        </span>
        <span className="grow" />
        <label className="row">
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.target.checked)} />
          Follow
        </label>
        <button type="button" onClick={() => void download(job, attempt, rank, stream)}>
          Download
        </button>
      </div>
      {log.error ? <Trouble error={log.error} what="The output could not be read." /> : null}
      <Lines lines={shown} follow={follow && !wanted} search={wanted} />
    </>
  );
}

function Lines({ lines, follow, search }: { lines: string[]; follow: boolean; search: string }) {
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => HEIGHT,
    overscan: 20,
  });
  useEffect(() => {
    if (follow && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [follow, lines.length, virtual]);
  if (lines.length === 0) return <p className="quiet log-none">{search ? "No line has that." : "Nothing was written here."}</p>;
  return (
    <div className="log" ref={scroll} tabIndex={0} role="log" aria-label="Output" aria-live="off">
      <div style={{ height: virtual.getTotalSize(), position: "relative" }}>
        {virtual.getVirtualItems().map((item) => (
          <div className="log-line" key={item.key} style={{ transform: `translateY(${item.start}px)` }}>
            <Line text={lines[item.index] ?? ""} search={search} />
          </div>
        ))}
      </div>
    </div>
  );
}

function Line({ text, search }: { text: string; search: string }) {
  const parts = Anser.ansiToJson(text, { use_classes: true, json: true, remove_empty: true });
  return <>{parts.map((part, at) => <Part key={at} part={part} search={search} />)}</>;
}

function Part({ part, search }: { part: AnserJsonEntry; search: string }) {
  const classes = [part.fg, part.bg && `on-${part.bg}`, ...part.decorations.map((one) => `ansi-${one}`)].filter(Boolean).join(" ");
  if (!search) return <span className={classes}>{part.content}</span>;
  const at = part.content.toLowerCase().indexOf(search);
  if (at < 0) return <span className={classes}>{part.content}</span>;
  return (
    <span className={classes}>
      {part.content.slice(0, at)}
      <mark>{part.content.slice(at, at + search.length)}</mark>
      {part.content.slice(at + search.length)}
    </span>
  );
}

/** A link could not send the token except in its address. */
async function download(job: string, attempt: number, rank: number, stream: Stream): Promise<void> {
  const answer = await fetch(`/api/v1/jobs/${job}/logs/raw?attempt=${attempt}&rank=${rank}&stream=${stream}`, {
    headers: { Authorization: `Bearer ${session.token() ?? ""}` },
  });
  const url = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = `${job}-${attempt}-${rank}.${stream}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
