/** One line of the list. */

import { memo } from "react";
import { Link } from "wouter";
import type { Glance, JobRow } from "../../api/client";
import { count, measure, shortSpan, soon, span } from "../../format";
import { Sparkline, State, useNow, When } from "../../parts/parts";
import { isLive } from "./list";

interface Props {
  job: JobRow;
  glance: Glance | undefined;
  index: number;
  top: number;
  /** The time to the minute: what a row says of ages need not be drawn each second. */
  minute: number;
  cursor: boolean;
  selected: boolean;
  onSelect: (id: string, on: boolean) => void;
}

export const Row = memo(function Row({ job, glance, index, top, minute, cursor, selected, onSelect }: Props) {
  return (
    <div
      className={`line body-line ${job.state}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      data-cursor={cursor}
      data-job={job.id}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span role="cell">
        <input
          type="checkbox"
          aria-label={`Select ${job.name}`}
          checked={selected}
          onChange={(event) => onSelect(job.id, event.target.checked)}
        />
      </span>
      <span role="cell">
        <State state={job.state} desired={job.desired} />
      </span>
      <span role="cell" className="ellipsis" title={`${job.name}\n${job.id}`}>
        <Link className="name" href={`/jobs/${job.id}`}>
          {job.name}
        </Link>
        {job.array_index !== null && <span className="quiet"> [{job.array_index}]</span>}
      </span>
      <span role="cell" className="project ellipsis" title={owned(job)}>
        {job.project}
        {job.owner && <span className="quiet"> · {job.owner}</span>}
      </span>
      <span role="cell">
        <Progress job={job} glance={glance} />
      </span>
      <span role="cell" className="curve">
        {glance && glance.values.length > 1 && (
          <Sparkline values={glance.values} label={`loss, last ${measure(glance.values.at(-1))}`} />
        )}
      </span>
      <span role="cell" className="slices ellipsis mono" title={job.slices.join(" or ")}>
        {job.slices.join(" | ")}
      </span>
      <span role="cell" className="priority ellipsis quiet">
        {job.priority}
      </span>
      <span role="cell" className="age number quiet">
        <When at={job.created_at_ms}>{shortSpan(Math.max(minute, Date.now()) - job.created_at_ms)} ago</When>
      </span>
      <span role="cell" className="took number quiet">
        <Took job={job} />
      </span>
      <span role="cell" className="why ellipsis quiet" title={job.message}>
        {job.message}
      </span>
    </div>
  );
});

const owned = (job: JobRow): string => (job.owner ? `${job.project}, submitted by ${job.owner}` : job.project);

function Progress({ job, glance }: { job: JobRow; glance: Glance | undefined }) {
  const step = glance?.progress?.step;
  const total = glance?.progress?.total_steps;
  if (step === null || step === undefined) {
    return <span className="quiet">{glance?.progress?.phase && isLive(job) ? glance.progress.phase : ""}</span>;
  }
  const share = total ? Math.min(1, step / total) : null;
  return (
    <span className="progress number">
      <span className="ellipsis">
        {count(step)}
        {total ? <span className="quiet"> / {count(total)}</span> : null}
      </span>
      <span className="quiet eta">{isLive(job) && glance?.last_step_at_ms ? <Eta at={glance.last_step_at_ms} /> : ""}</span>
      {share !== null && (
        <span className="bar" role="presentation">
          <i style={{ width: `${share * 100}%` }} />
        </span>
      )}
    </span>
  );
}

function Eta({ at }: { at: number }) {
  const now = useNow();
  return (
    <time dateTime={new Date(at).toISOString()} title={`At this pace the last step is made at ${soon(at, now)}`}>
      {at > now ? `${shortSpan(at - now)} left` : "ending"}
    </time>
  );
}

function Took({ job }: { job: JobRow }) {
  if (job.started_at_ms === null) return null;
  if (job.ended_at_ms === null) return <Since at={job.started_at_ms} />;
  return <>{span(job.ended_at_ms - job.started_at_ms)}</>;
}

function Since({ at }: { at: number }) {
  return <>{span(useNow() - at)}</>;
}
