/** One job: what happened to it and what it measured, on one time axis; why it failed; its output; its spec. */

import { useMemo, useState } from "react";
import { Link } from "wouter";
import type { Attempt, Checkpoint, Job as JobType, PodEvent, Schemas } from "../../api/client";
import { bytes, chipHours, count, moment, percent, soon, span } from "../../format";
import { useAddress } from "../../parts/address";
import { Empty, State, Trouble, useNow, When } from "../../parts/parts";
import "../../styles/job.css";
import "../../styles/fleet.css";
import { Actions } from "./actions";
import { Stack, TimeAxis, ZoomBar } from "./axis";
import { Chart } from "./chart";
import { useAttempts, useCheckpoints, useEvents, useJob, useLedger, useMetrics, useNames } from "./data";
import { FailureCard } from "./failure";
import { Lanes } from "./lanes";
import { Logs } from "./logs";
import { SpecYaml } from "./spec";
import { AttemptTorus } from "./torus";
import { WhyCard } from "./why";

const FIRST_SHOWN = ["loss", "train/loss", "eval/loss", "step_time_s", "grad_norm", "tokens_per_s", "mfu"];
const SHOWN_AT_FIRST = 4;
const COLOURS = 8;
const AXIS_STEP_MS = 5_000;
const NAMES_LISTED = 200;

export default function JobPage({ params }: { params: { job: string } }) {
  const job = useJob(params.job);
  if (job.error) {
    return (
      <div className="page">
        <Trouble error={job.error} what="This job cannot be shown." />
        <Link href="/jobs">All jobs</Link>
      </div>
    );
  }
  return job.data ? <Shown key={job.data.id} job={job.data} /> : null;
}

function Shown({ job }: { job: JobType }) {
  const running = job.attempt?.live ?? false;
  const attempts = useAttempts(job.id).data?.items ?? NONE;
  const events = useEvents(job.id).data ?? NONE;
  const checkpoints = useCheckpoints(job.id, running).data?.items ?? NONE;
  const ledger = useLedger(job.id, running).data;
  const now = useNow();
  const end = job.ended_at_ms ?? Math.ceil(now / AXIS_STEP_MS) * AXIS_STEP_MS;
  const whole = useMemo(() => {
    const width = Math.max(1_000, end - job.created_at_ms);
    return { since: job.created_at_ms - width / 200, until: end + width / 200 };
  }, [job.created_at_ms, end]);
  return (
    <div className="page job">
      <Head job={job} now={now} checkpoints={checkpoints} />
      {job.state !== "SUCCEEDED" && <FailureCard job={job} attempts={attempts} />}
      <WhyCard job={job} />
      <Facts job={job} ledger={ledger} now={now} />
      <TimeAxis whole={whole}>
        <section className="card" aria-label="What happened">
          <header>
            <h2 className="grow">Timeline</h2>
            <ZoomBar />
          </header>
          <Stack>
            <Lanes job={job} attempts={attempts} events={events} checkpoints={checkpoints} now={Math.min(now, end)} />
            <Metrics job={job} attempts={attempts} running={running} />
          </Stack>
        </section>
      </TimeAxis>
      <Below job={job} attempts={attempts} events={events} checkpoints={checkpoints} />
    </div>
  );
}

const NONE: never[] = [];

function Head({ job, now, checkpoints }: { job: JobType; now: number; checkpoints: Checkpoint[] }) {
  return (
    <header className="head">
      <State state={job.state} desired={job.desired} />
      <h1 className="ellipsis">{job.name}</h1>
      <span className="mono quiet">{job.id}</span>
      <span className="grow" />
      {job.attempt?.live && job.progress && <Finish progress={job.progress} now={now} />}
      <Actions job={job} checkpoints={checkpoints} />
    </header>
  );
}

function Finish({ progress, now }: { progress: Schemas["ProgressView"]; now: number }) {
  const { step, total_steps: total, first_step_at_ms: first, last_report_at_ms: last } = progress;
  if (step === null || !total) return null;
  const made = step - (progress.resumed_step ?? 0) - 1;
  const ends = first !== null && last !== null && made >= 3 ? last + ((last - first) * (total - step)) / made : null;
  return (
    <span className="quiet number finish">
      {percent(step / total)} · {count(step)} of {count(total)} steps
      {ends !== null && ends > now && <> · {span(ends - now)} left, until about {soon(ends, now)}</>}
    </span>
  );
}

function Facts({ job, ledger, now }: { job: JobType; ledger: Schemas["LedgerView"] | undefined; now: number }) {
  const goodput = ledger?.goodput ?? null;
  const labels = Object.entries((job.spec.labels ?? {}) as Record<string, string>);
  return (
    <section className="card facts-card" aria-label="Facts">
      <dl>
        <Fact name="Project">
          <Link href={`/jobs?project=${encodeURIComponent(job.project)}`}>{job.project}</Link>
        </Fact>
        <Fact name="Owner">{job.owner ?? "–"}</Fact>
        <Fact name="Slices">
          <span className="mono">{job.slices.join(" or ")}</span>
        </Fact>
        <Fact name="Priority">{job.priority}</Fact>
        <Fact name="Submitted">
          <When at={job.created_at_ms}>{moment(job.created_at_ms)}</When>
        </Fact>
        <Fact name="Waited">{span((job.started_at_ms ?? job.ended_at_ms ?? now) - job.created_at_ms)}</Fact>
        <Fact name="Ran">{job.started_at_ms === null ? "–" : span((job.ended_at_ms ?? now) - job.started_at_ms)}</Fact>
        <Fact name="Attempts">{job.attempts}</Fact>
        <Fact name="Committed step">{job.committed_step === null ? "–" : count(job.committed_step)}</Fact>
        <Fact name="Goodput">{goodput === null ? "–" : percent(goodput)}</Fact>
        <Fact name="Chip hours">{ledger ? chipHours(ledger.allocated_chip_ms) : "–"}</Fact>
        {job.origin && (
          <Fact name="Like">
            <Link href={`/jobs/${job.origin}`}>{job.origin}</Link>
          </Fact>
        )}
        {labels.length > 0 && (
          <Fact name="Labels">
            {labels.map(([name, value]) => (
              <span className="label" key={name}>
                {name}: {value}
              </span>
            ))}
          </Fact>
        )}
      </dl>
      {ledger && ledger.allocated_chip_ms > 0 && <WhereItWent ledger={ledger} />}
    </section>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd className="number">{children}</dd>
    </div>
  );
}

function WhereItWent({ ledger }: { ledger: Schemas["LedgerView"] }) {
  const parts = Object.entries(ledger.chip_ms).filter(([, spent]) => spent > 0);
  return (
    <div className="went">
      <div className="went-bar" role="img" aria-label={parts.map(([name, spent]) => `${name} ${share(spent)}`).join(", ")}>
        {parts.map(([name, spent]) => (
          <i
            key={name}
            className={`bucket-${name}`}
            style={{ width: `${(100 * spent) / ledger.allocated_chip_ms}%` }}
            title={`${name}: ${share(spent)}`}
          />
        ))}
      </div>
      <p className="quiet number">
        {parts.map(([name, spent]) => (
          <span key={name}>
            <i className={`swatch bucket-${name}`} aria-hidden="true" /> {name} {share(spent)}
          </span>
        ))}
      </p>
    </div>
  );
  function share(spent: number): string {
    return percent(spent / ledger.allocated_chip_ms);
  }
}

function Metrics({ job, attempts, running }: { job: JobType; attempts: Attempt[]; running: boolean }) {
  const [address, change] = useAddress();
  const names = useNames(job.id, running).data?.items ?? NONE;
  const asked = address.getAll("metric").filter((name) => names.includes(name));
  const chosen = asked.length ? asked : firstOf(names);
  const metrics = useMetrics(job.id, chosen, running);
  const restarts = useMemo(() => attempts.slice(1).map((attempt) => attempt.ordered_at_ms), [attempts]);
  const [search, setSearch] = useState("");
  const listed = names.filter((name) => name.toLowerCase().includes(search.toLowerCase()));
  const flip = (name: string) =>
    change({ metric: chosen.includes(name) ? chosen.filter((one) => one !== name) : [...chosen, name] });
  const found = new Map(metrics.data?.items.map((series) => [series.name, series]));
  return (
    <>
      {metrics.error && <Trouble error={metrics.error} what="The metrics could not be read." />}
      {chosen.map((name, at) => {
        const series = found.get(name);
        return series && <Chart key={name} series={series} colour={`--c-${(at % COLOURS) + 1}`} restarts={restarts} />;
      })}
      {names.length > 0 && (
        <details className="metric-picker">
          <summary>
            Metrics: {chosen.length} of {count(names.length)} shown
          </summary>
          <input
            type="search"
            aria-label="Search the metrics"
            placeholder="Search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
          <ul>
            {listed.slice(0, NAMES_LISTED).map((name) => (
              <li key={name}>
                <label className="row">
                  <input type="checkbox" checked={chosen.includes(name)} onChange={() => flip(name)} />
                  <span className="ellipsis" title={name}>
                    {name}
                  </span>
                </label>
              </li>
            ))}
          </ul>
          {listed.length > NAMES_LISTED && (
            <p className="quiet">{count(listed.length - NAMES_LISTED)} more: search for them by name.</p>
          )}
        </details>
      )}
    </>
  );
}

export function firstOf(names: string[]): string[] {
  const known = FIRST_SHOWN.filter((name) => names.includes(name));
  const rest = names.filter((name) => !known.includes(name));
  return [...known, ...rest].slice(0, SHOWN_AT_FIRST);
}

const TABS = ["Output", "Attempts", "Checkpoints", "Events", "Spec"] as const;
type Tab = (typeof TABS)[number];

interface BelowProps {
  job: JobType;
  attempts: Attempt[];
  events: PodEvent[];
  checkpoints: Checkpoint[];
}

function Below({ job, attempts, events, checkpoints }: BelowProps) {
  const [address, change] = useAddress();
  const named = TABS.find((tab) => tab.toLowerCase() === address.get("tab"));
  const tab: Tab = named ?? "Output";
  return (
    <section className="card below">
      <div className="tabs" role="tablist" aria-label="More of the job">
        {TABS.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            id={`tab-${one}`}
            aria-controls="tab-panel"
            aria-selected={one === tab}
            onClick={() => change({ tab: one.toLowerCase() })}
          >
            {one}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${tab}`}>
        {tab === "Output" && (
          <Logs
            job={job.id}
            attempts={attempts.map((one) => ({ number: one.number, ranks: one.ranks?.map((rank) => rank.rank) ?? [] }))}
          />
        )}
        {tab === "Attempts" && <Attempts job={job} attempts={attempts} />}
        {tab === "Checkpoints" && <Checkpoints checkpoints={checkpoints} />}
        {tab === "Events" && <Events events={events} />}
        {tab === "Spec" && <SpecYaml spec={job.spec} name={job.name} />}
      </div>
    </section>
  );
}

function Attempts({ job, attempts }: { job: JobType; attempts: Attempt[] }) {
  if (attempts.length === 0) return <Empty title="No attempt yet" />;
  const shape = job.choices[0]?.shape ?? "";
  return (
    <ul className="attempts">
      {[...attempts].reverse().map((attempt) => (
        <li key={attempt.id}>
          <div className="grow">
            <h3>
              Attempt {attempt.number}: {attempt.live ? "runs" : attempt.reason?.replaceAll("_", " ")}
            </h3>
            {attempt.cause && <p>{attempt.cause.sentence}</p>}
            <p className="quiet number">
              {moment(attempt.ordered_at_ms)}
              {attempt.ended_at_ms !== null && <>, for {span(attempt.ended_at_ms - attempt.ordered_at_ms)}</>}
              {attempt.progress?.step != null && <>, reached step {count(attempt.progress.step)}</>}
              {attempt.progress?.resumed_step ? <>, from step {count(attempt.progress.resumed_step)}</> : null}
            </p>
          </div>
          <AttemptTorus attempt={attempt} shape={shape} />
        </li>
      ))}
    </ul>
  );
}

function Checkpoints({ checkpoints }: { checkpoints: Checkpoint[] }) {
  if (checkpoints.length === 0) {
    return (
      <Empty title="Nothing committed yet">
        <p>Only a committed step appears here: it is what a restart goes on from.</p>
      </Empty>
    );
  }
  return (
    <table className="table">
      <thead>
        <tr>
          {["Step", "Attempt", "Committed", "Size", "Saving took", "State", "Note"].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="number">
        {[...checkpoints]
          .sort((a, b) => b.at_ms - a.at_ms)
          .map((one) => (
            <tr key={one.path}>
              <td>{count(one.step)}</td>
              <td>{one.attempt}</td>
              <td>{moment(one.at_ms)}</td>
              <td>{bytes(one.bytes)}</td>
              <td>{one.save_ms === null ? "–" : span(one.save_ms)}</td>
              <td>
                {one.state}
                {one.pinned && ", pinned"}
                {one.kept && <span className="quiet"> ({one.kept})</span>}
              </td>
              <td>{one.note}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

function Events({ events }: { events: PodEvent[] }) {
  if (events.length === 0) return <Empty title="No events" />;
  return (
    <table className="table">
      <thead>
        <tr>
          {["When", "What", "Said", "By"].map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {[...events].reverse().map((event) => (
          <tr key={event.id}>
            <td className="number">{moment(event.at_ms)}</td>
            <td className="mono">{event.kind}</td>
            <td>{event.message}</td>
            <td>{event.actor ?? ""}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
