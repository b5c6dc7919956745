/** Why a job does not run yet: all that stands in its way, when it will start, and what would help. The server says it. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { body, http, type Job, type Schemas } from "../../api/client";
import { count, soon, span } from "../../format";
import { Trouble, useNow } from "../../parts/parts";
import { say } from "../../parts/toasts";

const ASK_MS = 5_000;
const WAITS = new Set(["QUEUED", "BLOCKED", "HELD"]);

export const useWhy = (id: string, waits: boolean) =>
  useQuery({
    queryKey: ["job", id, "why"],
    enabled: waits,
    queryFn: () => body(http.GET("/api/v1/jobs/{job}/why", { params: { path: { job: id } } })),
    refetchInterval: ASK_MS,
  });

export function WhyCard({ job }: { job: Job }) {
  const why = useWhy(job.id, WAITS.has(job.state));
  const now = useNow();
  if (!WAITS.has(job.state) || !why.data) return null;
  const found = why.data;
  return (
    <section className="note warn why-card" aria-label="Why it waits">
      <h2>Not yet</h2>
      <ul>
        {found.blockers.map((blocker) => (
          <li key={blocker.kind + blocker.says}>{blocker.says}</li>
        ))}
      </ul>
      <p className="number">
        {found.place != null && (
          <>
            Place {count(found.place)} of {count(found.of ?? found.place)}.{" "}
          </>
        )}
        {found.start && <Start start={found.start} now={now} />}
      </p>
      {(found.ways_out ?? []).length > 0 && (
        <>
          <h3>Each of these alone would start it</h3>
          <ul className="ways">
            {(found.ways_out ?? []).map((way) => (
              <WayOut key={way.says} way={way} />
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

export function Start({ start, now }: { start: Schemas["StartView"]; now: number }) {
  return (
    <>
      Starts about {soon(start.at_ms, now)} (in {span(start.at_ms - now)}
      {start.latest_ms > start.earliest_ms && (
        <>
          , between {soon(start.earliest_ms, now)} and {soon(start.latest_ms, now)}
        </>
      )}
      ).
    </>
  );
}

function WayOut({ way }: { way: Schemas["WayView"] }) {
  const cancel = useMutation({
    mutationFn: () =>
      body(http.POST("/api/v1/jobs/ask", { body: { verb: "cancel", which: { ids: way.jobs }, dry_run: false } })),
    onSuccess: (answer) => say(`${count(answer.asked.length)} asked to cancel`),
  });
  return (
    <li className="row wrap">
      <span>{way.says}</span>
      {way.jobs.map((id) => (
        <Link key={id} href={`/jobs/${id}`} className="mono">
          {id}
        </Link>
      ))}
      {way.jobs.length > 0 && (
        <button type="button" className="danger" disabled={cancel.isPending} onClick={() => cancel.mutate()}>
          Cancel {way.jobs.length === 1 ? "it" : `these ${way.jobs.length}`}
        </button>
      )}
      {cancel.error && <Trouble error={cancel.error} what="That was refused." />}
    </li>
  );
}
