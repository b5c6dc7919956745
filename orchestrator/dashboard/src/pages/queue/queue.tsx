/** The queue: what waits, in the order in which it is offered slices, why, and when it will start; slices over time. */

import { useQueries, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Link } from "wouter";
import { body, http, type JobRow, type Schemas } from "../../api/client";
import { count, shortSpan, soon } from "../../format";
import { Empty, State, Trouble, useMinute, useNow, When } from "../../parts/parts";
import "../../styles/job.css";
import "../../styles/fleet.css";
import { useFresh, useSlices, useStays } from "../fleet/data";
import { Lane, Stack, Stretch, TimeAxis, useAxis, ZoomBar } from "../job/axis";

type Why = Schemas["WhyView"];

const MOST = 100;
const EXPLAINED = 40;
const BACK_MS = 6 * 3_600_000;
const AHEAD_MS = 2 * 3_600_000;
const ASK_MS = 10_000;

export default function Queue() {
  useFresh("queue");
  const waiting = useQuery({
    queryKey: ["queue", "jobs"],
    queryFn: () =>
      body(
        http.GET("/api/v1/jobs", {
          params: { query: { state: ["QUEUED", "BLOCKED", "HELD"], order: "oldest", limit: MOST } },
        }),
      ),
    refetchInterval: ASK_MS,
  });
  const jobs = waiting.data?.items ?? NONE;
  const explained = useQueries({
    queries: jobs.slice(0, EXPLAINED).map((job) => ({
      queryKey: ["queue", "why", job.id],
      queryFn: () => body(http.GET("/api/v1/jobs/{job}/why", { params: { path: { job: job.id } } })),
      refetchInterval: 2 * ASK_MS,
    })),
  });
  const whys = new Map(explained.flatMap((one) => (one.data ? [[one.data.job_id, one.data] as const] : [])));
  const placeOf = (job: JobRow) => whys.get(job.id)?.place ?? Number.POSITIVE_INFINITY;
  const ordered = [...jobs].sort((a, b) => placeOf(a) - placeOf(b) || a.created_at_ms - b.created_at_ms);
  return (
    <div className="page">
      <div className="head">
        <h1>Queue</h1>
        <span className="quiet number">{waiting.data && `${count(jobs.length)}${waiting.data.next_cursor ? "+" : ""} waiting`}</span>
      </div>
      {waiting.error && <Trouble error={waiting.error} what="The queue could not be read." />}
      <Gantt planned={ordered.flatMap((job) => plannedOf(job, whys.get(job.id)))} />
      <section className="card" aria-label="What waits">
        {waiting.data && jobs.length === 0 ? (
          <Empty title="Nothing waits">
            <p>Every job has its slices.</p>
          </Empty>
        ) : (
          <table className="table">
            <thead>
              <tr>
                {["Place", "Job", "State", "Wants", "Priority", "Waits for", "Starts about", "Why"].map((title) => (
                  <th key={title} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {ordered.map((job) => (
                <Waiting key={job.id} job={job} why={whys.get(job.id)} />
              ))}
            </tbody>
          </table>
        )}
      </section>
    </div>
  );
}

const NONE: never[] = [];

interface Planned {
  job: JobRow;
  start: Schemas["StartView"];
}

function plannedOf(job: JobRow, why: Why | undefined): Planned[] {
  return why?.start ? [{ job, start: why.start }] : [];
}

function Waiting({ job, why }: { job: JobRow; why: Why | undefined }) {
  const now = useNow();
  const blockers = why?.blockers ?? [];
  return (
    <tr>
      <td className="number">{why?.place ?? ""}</td>
      <td>
        <Link href={`/jobs/${job.id}`}>{job.name}</Link> <span className="quiet">{job.project}</span>
      </td>
      <td>
        <State state={job.state} />
      </td>
      <td className="mono">{job.slices.join(" | ")}</td>
      <td>{job.priority}</td>
      <td className="number">
        <When at={job.queued_at_ms}>{shortSpan(now - job.queued_at_ms)}</When>
      </td>
      <td className="number">{why?.start ? soon(why.start.at_ms, now) : <span className="quiet">not known</span>}</td>
      <td>
        {blockers.length === 0 ? job.message : blockers.map((one) => <div key={one.kind + one.says}>{one.says}</div>)}
        {(why?.ways_out ?? []).length > 0 && (
          <Link href={`/jobs/${job.id}`}>{why?.ways_out?.length === 1 ? "1 way out" : `${why?.ways_out?.length} ways out`}</Link>
        )}
      </td>
    </tr>
  );
}

function Gantt({ planned }: { planned: Planned[] }) {
  const minute = useMinute();
  const slices = useSlices();
  const stays = useStays(minute - BACK_MS);
  const whole = useMemo(() => ({ since: minute - BACK_MS, until: minute + AHEAD_MS }), [minute]);
  if (!slices.data?.items.length) return null;
  return (
    <TimeAxis whole={whole}>
      <section className="card gantt" aria-label="Slices over time">
        <header>
          <h2 className="grow">Slices</h2>
          <ZoomBar />
        </header>
        <Stack>
          {slices.data.items.map((slice) => (
            <Lane key={slice.id} name={slice.id} height={20}>
              {stays.data?.items
                .filter((stay) => stay.slices.includes(slice.id))
                .map((stay) => (
                  <Stretch
                    key={stay.attempt_id}
                    since={stay.since_ms}
                    until={stay.until_ms ?? minute + 60_000}
                    kind={stay.until_ms === null ? "RUNNING" : stay.reason === "completed" ? "SUCCEEDED" : "FAILED"}
                    text={stay.job_name}
                    title={`${stay.job_name}, attempt ${stay.number}${stay.reason ? `, ${stay.reason}` : ""}`}
                  />
                ))}
              <NowLine now={minute} />
            </Lane>
          ))}
          {planned.length > 0 && (
            <Lane name="Planned starts" height={20}>
              {planned.map(({ job, start }) => (
                <Stretch
                  key={job.id}
                  since={start.at_ms}
                  until={Math.max(start.at_ms + 300_000, start.latest_ms)}
                  kind="planned"
                  text={job.name}
                  title={`${job.name} starts about ${soon(start.at_ms, minute)}`}
                />
              ))}
            </Lane>
          )}
        </Stack>
      </section>
    </TimeAxis>
  );
}

function NowLine({ now }: { now: number }) {
  const { range } = useAxis();
  const share = (now - range.since) / (range.until - range.since);
  if (share < 0 || share > 1) return null;
  return <span className="now-line" style={{ left: `${share * 100}%` }} />;
}
