/** Why it went wrong: who failed first, on what evidence. */

import type { Attempt, Job, Schemas } from "../../api/client";
import { count, moment, span } from "../../format";

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
  const card = failed.card ?? null;
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
        {card?.phase && <>, in {card.phase}</>}
        {card?.step != null && <>, at step {count(card.step)}</>}
        {card?.detect_ms != null && <>; noticed after {span(card.detect_ms)}</>}
      </p>
      {card && <More card={card} />}
    </section>
  );
}

/** What to do about it, whom it took along, and where the ranks stood. */
function More({ card }: { card: Schemas["CardView"] }) {
  return (
    <>
      {card.advises && (
        <p>
          <strong>What to do:</strong> {card.advises}
        </p>
      )}
      {card.notes.map((note) => (
        <p key={note}>{note}</p>
      ))}
      {card.stacks.map((group) => (
        <details key={group.ranks.join()} open={group.odd}>
          <summary>
            Stack of {group.ranks.length === 1 ? `rank ${group.ranks[0]}` : `ranks ${group.ranks.join(", ")}`}
            {group.odd && ", the odd one"}
          </summary>
          <pre>{group.lines.join("\n")}</pre>
        </details>
      ))}
      {card.collateral.length > 0 && (
        <details>
          <summary>{count(card.collateral.length)} other ranks ended with it</summary>
          <ul>
            {card.collateral.map((one) => (
              <li key={one.rank}>
                rank {one.rank} on {one.slice_id}/{one.host} {one.says}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
