/** What happened, as lanes on the axis: states, attempts, where their time went, checkpoints, events. */

import type { Attempt, Checkpoint, Job, PodEvent } from "../../api/client";
import { bytes, count, moment, span } from "../../format";
import { Lane, Mark, Stretch } from "./axis";

interface Stay {
  state: string;
  since: number;
  until: number;
}

/** The job's states one after the other, as its events tell them. */
export function stays(job: Job, events: PodEvent[], now: number): Stay[] {
  const found: Stay[] = [{ state: "QUEUED", since: job.created_at_ms, until: now }];
  for (const event of events) {
    if (event.kind !== "job.state" || typeof event.data.to !== "string") continue;
    const last = found.at(-1);
    if (last) last.until = event.at_ms;
    if (found.length === 1 && typeof event.data.from === "string" && last) last.state = event.data.from;
    found.push({ state: event.data.to, since: event.at_ms, until: now });
  }
  const last = found.at(-1);
  if (last && job.ended_at_ms !== null) last.until = Math.max(last.since, job.ended_at_ms);
  return found.filter((stay) => stay.until >= stay.since);
}

export function Lanes(props: {
  job: Job;
  attempts: Attempt[];
  events: PodEvent[];
  checkpoints: Checkpoint[];
  now: number;
}) {
  const { job, attempts, events, checkpoints, now } = props;
  return (
    <>
      <Lane name="State">
        {stays(job, events, now).map((stay) => (
          <Stretch
            key={stay.since + stay.state}
            since={stay.since}
            until={stay.until}
            kind={stay.state}
            title={`${stay.state}, ${moment(stay.since)}, for ${span(stay.until - stay.since)}`}
          />
        ))}
      </Lane>
      <Lane name="Attempts">
        {attempts.map((attempt) => (
          <Stretch
            key={attempt.id}
            since={attempt.ordered_at_ms}
            until={attempt.ended_at_ms ?? now}
            kind={`attempt ${attempt.live ? "RUNNING" : attempt.reason === "completed" ? "SUCCEEDED" : "FAILED"}`}
            text={`${attempt.number}${attempt.reason ? ` ${attempt.reason.replaceAll("_", " ")}` : ""}`}
            title={`attempt ${attempt.number} on ${attempt.slices.join(", ")}: ${attempt.cause?.sentence ?? "it runs"}`}
          />
        ))}
      </Lane>
      <Lane name="Start-up" height={14}>
        {attempts.flatMap((attempt) => starts(attempt, now))}
      </Lane>
      <Lane name="Checkpoints" height={16}>
        {checkpoints.map((one) => (
          <Mark
            key={one.path}
            at={one.at_ms}
            kind={one.pinned ? "commit pinned" : one.state === "committed" ? "commit" : "commit bad"}
            title={`step ${count(one.step)}, ${bytes(one.bytes)}, ${one.state}${one.pinned ? ", pinned" : ""}, ${moment(one.at_ms)}`}
          />
        ))}
      </Lane>
      <Lane name="Events" height={16}>
        {events.map((event) => (
          <Mark key={event.id} at={event.at_ms} kind="event" title={`${event.kind}: ${event.message}`} />
        ))}
      </Lane>
    </>
  );
}

/** From the order to every process, and from there to the first step. */
function starts(attempt: Attempt, now: number) {
  const ready = attempt.ready_at_ms;
  const first = attempt.progress?.first_step_at_ms ?? null;
  const end = attempt.ended_at_ms ?? now;
  const launched = (
    <Stretch
      key={`${attempt.id} launch`}
      since={attempt.ordered_at_ms}
      until={ready ?? end}
      kind="launch"
      title={`attempt ${attempt.number}: launching took ${span((ready ?? end) - attempt.ordered_at_ms)}`}
    />
  );
  if (ready === null) return [launched];
  return [
    launched,
    <Stretch
      key={`${attempt.id} start`}
      since={ready}
      until={first ?? end}
      kind="warm"
      title={`attempt ${attempt.number}: from all processes to the first step ${span((first ?? end) - ready)}`}
    />,
  ];
}
