/** Why it went wrong: who failed first, on what evidence. */

import type { Attempt, Job } from "../../api/client";
import { moment, span } from "../../format";

export function FailureCard({ job, attempts }: { job: Job; attempts: Attempt[] }) {
  const failed = [...attempts].reverse().find((attempt) => attempt.cause && attempt.reason !== "completed");
  if (!failed?.cause) {
    if (job.state !== "FAILED") return null;
    return (
      <section className="note bad" aria-label="Why it failed">
        <strong>{job.reason?.replaceAll("_", " ")}</strong>: {job.message}
      </section>
    );
  }
  const cause = failed.cause;
  const over = job.state === "FAILED";
  const detected = failed.detected_at_ms !== null && failed.last_sign_at_ms !== null;
  return (
    <section className={over ? "note bad failure" : "note failure"} aria-label="Why it failed">
      <h2>
        {over ? "It failed" : `Attempt ${failed.number} ended`}: {cause.reason.replaceAll("_", " ")}
      </h2>
      <p>{cause.sentence}</p>
      {cause.evidence.length > 0 && <pre>{cause.evidence.join("\n")}</pre>}
      <p className="quiet">
        attempt {failed.number}
        {cause.rank !== null && <>, rank {cause.rank}</>}
        {cause.slice_id !== null && (
          <>
            , host {cause.slice_id}/{cause.host}
          </>
        )}
        {failed.ended_at_ms !== null && <>, {moment(failed.ended_at_ms)}</>}
        {detected && <>; noticed after {span((failed.detected_at_ms ?? 0) - (failed.last_sign_at_ms ?? 0))}</>}
      </p>
    </section>
  );
}
