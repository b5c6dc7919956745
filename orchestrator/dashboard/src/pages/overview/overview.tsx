/** What runs, what waits and why, what broke last, how full the pools are. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { body, http, type JobRow, type Schemas } from "../../api/client";
import { count, percent, shortSpan } from "../../format";
import { Empty, State, Trouble, useNow, When } from "../../parts/parts";
import "../../styles/fleet.css";
import { useFresh, usePools } from "../fleet/data";
import { useMe } from "../../parts/me";

type JobState = Schemas["JobState"];

const LINES = 8;
const ASK_MS = 15_000;
const TILES: [string, JobState[]][] = [
  ["Running", ["RUNNING", "STARTING", "STOPPING"]],
  ["Waiting", ["QUEUED", "BLOCKED", "HELD"]],
  ["Failed", ["FAILED"]],
  ["Succeeded", ["SUCCEEDED"]],
];

export default function Overview() {
  useFresh("overview");
  const counts = useQuery({
    queryKey: ["overview", "counts"],
    queryFn: () => body(http.GET("/api/v1/jobs/counts")),
    refetchInterval: ASK_MS,
  });
  const me = useMe();
  return (
    <div className="page">
      <div className="head">
        <h1>Overview</h1>
        {me.data && <span className="quiet">for {me.data.name}</span>}
      </div>
      {counts.error && <Trouble error={counts.error} what="The jobs could not be counted." />}
      <div className="tiles">
        {TILES.map(([name, states]) => (
          <Link key={name} className="card tile" href={`/jobs?${states.map((state) => `state=${state}`).join("&")}`}>
            <strong className="number">{counts.data ? count(sum(counts.data.by_state, states)) : "–"}</strong>
            <span className={`state ${states[0]}`}>
              <span className="dot" aria-hidden="true" />
              {name}
            </span>
          </Link>
        ))}
      </div>
      <Pools />
      <div className="cards">
        <List title="Runs now" states={["RUNNING", "STARTING", "STOPPING"]} none="Nothing runs" />
        <List title="Waits" states={["QUEUED", "BLOCKED"]} none="Nothing waits" oldest />
        <List title="Failed lately" states={["FAILED"]} none="Nothing has failed" />
      </div>
    </div>
  );
}

const sum = (counts: Record<string, number>, states: string[]): number =>
  states.reduce((total, state) => total + (counts[state] ?? 0), 0);

function Pools() {
  const pools = usePools();
  return (
    <section className="card" aria-label="Capacity by pool">
      <header>
        <h2 className="grow">Capacity by pool</h2>
        <Link href="/fleet">Fleet</Link>
      </header>
      {pools.error && <Trouble error={pools.error} what="The pools could not be read." />}
      {pools.data?.items.length === 0 && <Empty title="No slice has joined yet" />}
      {pools.data?.items.map((pool) => (
        <div className="meter" key={pool.name + pool.cluster_id}>
          <span className="ellipsis" title={pool.shape}>
            {pool.name}
          </span>
          <span
            className="bar RUNNING"
            role="img"
            aria-label={`${pool.busy} of ${pool.slices} slices busy`}
          >
            <i style={{ width: percent(pool.slices ? pool.busy / pool.slices : 0).replace(" ", "") }} />
          </span>
          <span className="number quiet">
            {pool.busy}/{pool.slices} of {pool.shape}
          </span>
        </div>
      ))}
    </section>
  );
}

function List({ title, states, none, oldest }: { title: string; states: JobState[]; none: string; oldest?: boolean }) {
  const order = oldest ? "oldest" : "newest";
  const found = useQuery({
    queryKey: ["overview", title],
    queryFn: () => body(http.GET("/api/v1/jobs", { params: { query: { state: states, limit: LINES, order } } })),
    refetchInterval: ASK_MS,
  });
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2 className="grow">{title}</h2>
        <Link href={`/jobs?${states.map((state) => `state=${state}`).join("&")}`}>All</Link>
      </header>
      {found.error && <Trouble error={found.error} what="These jobs could not be read." />}
      {found.data?.items.length === 0 && <Empty title={none} />}
      <ul className="lines">
        {found.data?.items.map((job) => (
          <Line key={job.id} job={job} />
        ))}
      </ul>
    </section>
  );
}

function Line({ job }: { job: JobRow }) {
  const now = useNow();
  const at = job.ended_at_ms ?? job.started_at_ms ?? job.queued_at_ms;
  return (
    <li>
      <State state={job.state} desired={job.desired} />
      <span className="grow ellipsis">
        <Link href={`/jobs/${job.id}`}>{job.name}</Link> <span className="quiet">{job.message || job.project}</span>
      </span>
      <span className="quiet number">
        <When at={at}>{shortSpan(now - at)}</When>
      </span>
    </li>
  );
}
