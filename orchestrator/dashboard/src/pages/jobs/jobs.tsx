/** All jobs: thousands of rows, of which those in sight exist; filters in the address, changes as they happen. */

import { useQuery } from "@tanstack/react-query";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { body, http, type JobRow, type Schemas } from "../../api/client";
import { count } from "../../format";
import { useAddress } from "../../parts/address";
import { useKeys } from "../../parts/keys";
import { Empty, Trouble, useMinute } from "../../parts/parts";
import "../../styles/jobs.css";
import { Bulk } from "./bulk";
import { type Filters, useCounts, useGlances, useJobs } from "./list";
import { Row } from "./row";

type JobState = Schemas["JobState"];

const STATES: JobState[] = ["RUNNING", "STARTING", "STOPPING", "QUEUED", "BLOCKED", "HELD", "FAILED", "SUCCEEDED", "CANCELLED"];
const TITLES: [string, string][] = [
  ["", "State"],
  ["", "Name"],
  ["project", "Project"],
  ["", "Progress"],
  ["curve", "Loss"],
  ["slices", "Slices"],
  ["priority", "Priority"],
  ["age", "Submitted"],
  ["took", "Took"],
  ["why", "Why"],
];
const HEIGHT = 34;
const AHEAD = 120;
const TYPING_MS = 200;

export default function Jobs() {
  const [asked, change] = useAddress();
  const filters: Filters = useMemo(
    () => ({
      state: asked.getAll("state").filter((one): one is JobState => STATES.includes(one as JobState)),
      search: asked.get("search") ?? "",
      project: asked.get("project") ?? "",
      owner: asked.get("owner") ?? "",
      array: asked.get("array") ?? "",
    }),
    [asked],
  );
  const jobs = useJobs(filters);
  const counts = useCounts(filters);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const select = useCallback((id: string, on: boolean) => {
    setSelected((old) => {
      const next = new Set(old);
      if (on) next.add(id);
      else next.delete(id);
      return next;
    });
  }, []);
  const clear = useCallback(() => setSelected(new Set()), []);
  const chosen = useMemo(() => [...selected], [selected]);
  const total = sumOf(counts.data?.by_state, filters.state) ?? jobs.rows.length;
  return (
    <div className="page full">
      <div className="head">
        <h1>Jobs</h1>
        <span className="quiet number">{count(total)}</span>
        <span className="grow" />
        {chosen.length > 0 && <Bulk ids={chosen} clear={clear} />}
      </div>
      <FilterBar filters={filters} change={change} counts={counts.data?.by_state} />
      {jobs.error && jobs.rows.length === 0 ? (
        <Trouble error={jobs.error} what="The jobs could not be read." />
      ) : (
        <List
          rows={jobs.rows}
          total={total}
          filtered={asked.size > 0}
          loading={jobs.isPending}
          more={jobs.hasNextPage && !jobs.isFetchingNextPage ? jobs.fetchNextPage : null}
          selected={selected}
          select={select}
          selectAll={(on) => setSelected(on ? new Set(jobs.rows.map((job) => job.id)) : new Set())}
          widen={() => change({ state: null, search: null, project: null, owner: null, array: null })}
        />
      )}
    </div>
  );
}

function sumOf(counts: Record<string, number> | undefined, states: JobState[]): number | null {
  if (!counts) return null;
  const wanted = states.length ? states : STATES;
  return wanted.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}

interface FilterProps {
  filters: Filters;
  change: ReturnType<typeof useAddress>[1];
  counts: Record<string, number> | undefined;
}

function FilterBar({ filters, change, counts }: FilterProps) {
  const box = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(filters.search);
  useKeys({ "/": () => box.current?.focus() });
  useEffect(() => setText(filters.search), [filters.search]);
  useEffect(() => {
    if (text === filters.search) return;
    const typed = setTimeout(() => change({ search: text }), TYPING_MS);
    return () => clearTimeout(typed);
  }, [text, filters.search, change]);
  const projects = useQuery({
    queryKey: ["projects"],
    queryFn: () => body(http.GET("/api/v1/projects")),
    staleTime: 60_000,
  });
  const flip = (state: JobState) =>
    change({
      state: filters.state.includes(state) ? filters.state.filter((one) => one !== state) : [...filters.state, state],
    });
  return (
    <div className="filters" role="search" aria-label="Filters">
      <input
        ref={box}
        type="search"
        aria-label="Search by name, id, project or owner"
        placeholder="Search   /"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape" || event.key === "Enter") box.current?.blur();
        }}
      />
      <select aria-label="Project" value={filters.project} onChange={(event) => change({ project: event.target.value })}>
        <option value="">All projects</option>
        {projects.data?.items.map((project) => (
          <option key={project.name}>{project.name}</option>
        ))}
      </select>
      {STATES.map((state) => (
        <button
          type="button"
          key={state}
          className={`chip ${state}`}
          aria-pressed={filters.state.includes(state)}
          onClick={() => flip(state)}
        >
          <span className="state">
            <span className="dot" aria-hidden="true" />
          </span>
          {state.charAt(0) + state.slice(1).toLowerCase()}
          <span className="number">{counts ? count(counts[state] ?? 0) : ""}</span>
        </button>
      ))}
      {[
        ["owner", filters.owner],
        ["array", filters.array],
      ].map(
        ([name, value]) =>
          name &&
          value && (
            <button type="button" className="chip" key={name} aria-pressed="true" onClick={() => change({ [name]: null })}>
              {name}: {value} ✕
            </button>
          ),
      )}
    </div>
  );
}

interface ListProps {
  rows: JobRow[];
  total: number;
  filtered: boolean;
  loading: boolean;
  more: (() => unknown) | null;
  selected: ReadonlySet<string>;
  select: (id: string, on: boolean) => void;
  selectAll: (on: boolean) => void;
  widen: () => void;
}

function List({ rows, total, filtered, loading, more, selected, select, selectAll, widen }: ListProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<number | null>(null);
  const [, go] = useLocation();
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => HEIGHT,
    overscan: 8,
  });
  const seen = virtual.getVirtualItems();
  const last = seen.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more && last > rows.length - AHEAD) more();
  }, [more, last, rows.length]);
  const glances = useGlances(
    seen.flatMap((item) => rows[item.index] ?? []),
    !virtual.isScrolling,
  );
  const minute = useMinute();
  const move = (by: number) => {
    const to = Math.min(rows.length - 1, Math.max(0, cursor === null ? 0 : cursor + by));
    setCursor(to);
    virtual.scrollToIndex(to);
  };
  const under = cursor === null ? undefined : rows[cursor];
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => under && select(under.id, !selected.has(under.id)),
    Enter: () => under && go(`/jobs/${under.id}`),
    Escape: () => setCursor(null),
  });
  return (
    <div className="card jobs" role="table" aria-label="Jobs" aria-rowcount={total + 1} aria-busy={loading}>
      <div role="rowgroup">
        <div className="line titles" role="row" aria-rowindex={1}>
          <span role="columnheader">
            <input
              type="checkbox"
              aria-label="Select all that are listed"
              checked={rows.length > 0 && selected.size >= rows.length}
              onChange={(event) => selectAll(event.target.checked)}
            />
          </span>
          {TITLES.map(([where, title]) => (
            <span role="columnheader" className={where} key={title}>
              {title}
            </span>
          ))}
        </div>
      </div>
      <div className="scroll" ref={scroll} role="rowgroup" tabIndex={0} aria-label="Rows">
        {rows.length === 0 && !loading ? (
          <NoJobs filtered={filtered} widen={widen} />
        ) : (
          <div role="presentation" style={{ height: virtual.getTotalSize(), position: "relative" }}>
            {seen.map((item) => {
              const job = rows[item.index];
              return (
                job && (
                  <Row
                    key={job.id}
                    job={job}
                    glance={glances.get(job.id)}
                    index={item.index}
                    top={item.start}
                    minute={minute}
                    cursor={item.index === cursor}
                    selected={selected.has(job.id)}
                    onSelect={select}
                  />
                )
              );
            })}
          </div>
        )}
      </div>
    </div>
  );
}

function NoJobs({ filtered, widen }: { filtered: boolean; widen: () => void }) {
  if (filtered) {
    return (
      <Empty title="No job fits these filters">
        <button type="button" onClick={widen}>
          Show all jobs
        </button>
      </Empty>
    );
  }
  return (
    <Empty title="No jobs yet">
      <p>
        Submit the first one from a terminal: <code>podwright run --slices v5e:2x4 -- echo hello</code>, or write a spec and{" "}
        <code>podwright submit FILE</code>. It appears here at once.
      </p>
      <Link href="/jobs">Look again</Link>
    </Empty>
  );
}
