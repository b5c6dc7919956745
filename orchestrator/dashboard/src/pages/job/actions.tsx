/** What can be asked of a job. The server says whether it may be; a button only asks. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { body, type Checkpoint, http, idempotencyKey, type Job } from "../../api/client";
import { count, moment } from "../../format";
import { Dialog, Trouble } from "../../parts/parts";
import { say } from "../../parts/toasts";

const ENDED = new Set(["SUCCEEDED", "FAILED", "CANCELLED"]);

type Intent = "cancel" | "hold" | "release";

const ASKS: Record<Intent, string> = { cancel: "was asked to end", hold: "will be held", release: "is released" };

export function Actions({ job, checkpoints }: { job: Job; checkpoints: Checkpoint[] }) {
  const [, go] = useLocation();
  const queries = useQueryClient();
  const [open, setOpen] = useState<"cancel" | "continue" | null>(null);
  const over = ENDED.has(job.state);
  const params = { path: { job: job.id } };
  const intent = useMutation({
    mutationFn: (verb: Intent) => {
      switch (verb) {
        case "cancel":
          return body(http.POST("/api/v1/jobs/{job}/cancel", { params }));
        case "hold":
          return body(http.POST("/api/v1/jobs/{job}/hold", { params }));
        case "release":
          return body(http.POST("/api/v1/jobs/{job}/release", { params }));
      }
    },
    onSuccess: (_, verb) => {
      say(`${job.name} ${ASKS[verb]}`);
      setOpen(null);
      void queries.invalidateQueries({ queryKey: ["job", job.id] });
    },
  });
  const again = useMutation({
    mutationFn: (verb: "retry" | "clone") => {
      const headers = { "Idempotency-Key": idempotencyKey() };
      return verb === "retry"
        ? body(http.POST("/api/v1/jobs/{job}/retry", { params: { ...params, header: headers } }))
        : body(http.POST("/api/v1/jobs/{job}/clone", { params: { ...params, header: headers }, body: { changes: {} } }));
    },
    onSuccess: (made) => {
      say(`${made.name} was submitted as ${made.id}`);
      go(`/jobs/${made.id}`);
    },
  });
  const held = job.desired === "held" || job.state === "HELD";
  return (
    <div className="row wrap">
      {!over && (
        <>
          <button type="button" disabled={intent.isPending} onClick={() => intent.mutate(held ? "release" : "hold")}>
            {held ? "Release" : "Hold"}
          </button>
          <button type="button" className="danger" onClick={() => setOpen("cancel")}>
            Cancel
          </button>
        </>
      )}
      {over && (
        <button type="button" disabled={again.isPending} onClick={() => again.mutate("retry")}>
          Retry
        </button>
      )}
      <button type="button" disabled={again.isPending} onClick={() => again.mutate("clone")}>
        Clone
      </button>
      {checkpoints.some((one) => one.state === "committed") && (
        <button type="button" onClick={() => setOpen("continue")}>
          Continue from …
        </button>
      )}
      {(intent.error ?? again.error) && <Trouble error={intent.error ?? again.error} what="That was refused." />}
      {open === "cancel" && (
        <Dialog
          title={`Cancel ${job.name}?`}
          onClose={() => setOpen(null)}
          footer={
            <>
              <button type="button" onClick={() => setOpen(null)}>
                Back
              </button>
              <button type="button" className="danger" disabled={intent.isPending} onClick={() => intent.mutate("cancel")}>
                Cancel the job
              </button>
            </>
          }
        >
          <p>
            It ends for good. What it has committed stays: another job can continue from it.
            {job.committed_step !== null && <> The newest committed step is {count(job.committed_step)}.</>}
          </p>
        </Dialog>
      )}
      {open === "continue" && <Continue job={job} checkpoints={checkpoints} onClose={() => setOpen(null)} />}
    </div>
  );
}

function Continue({ job, checkpoints, onClose }: { job: Job; checkpoints: Checkpoint[]; onClose: () => void }) {
  const [, go] = useLocation();
  const committed = checkpoints.filter((one) => one.state === "committed").sort((a, b) => b.at_ms - a.at_ms);
  const [path, setPath] = useState(committed[0]?.path ?? "");
  const one = committed.find((checkpoint) => checkpoint.path === path);
  const going = useMutation({
    mutationFn: () => {
      const params = { path: { job: job.id }, header: { "Idempotency-Key": idempotencyKey() } };
      // The route reads its body itself, so the document does not describe it.
      const asked = { step: one?.step, attempt: one?.attempt } as never;
      return body(http.POST("/api/v1/jobs/{job}/continue", { params, body: asked }));
    },
    onSuccess: (made) => {
      say(`${made.job.name} goes on from ${made.continues} as ${made.job.id}`);
      go(`/jobs/${made.job.id}`);
    },
  });
  return (
    <Dialog
      title={`Continue ${job.name} from a checkpoint`}
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="button" className="primary" disabled={!one || going.isPending} onClick={() => going.mutate()}>
            Submit the new job
          </button>
        </>
      }
    >
      <label className="field">
        Checkpoint
        <select value={path} onChange={(event) => setPath(event.target.value)}>
          {committed.map((checkpoint) => (
            <option key={checkpoint.path} value={checkpoint.path}>
              step {count(checkpoint.step)}, attempt {checkpoint.attempt}, {moment(checkpoint.at_ms)}
              {checkpoint.pinned ? ", pinned" : ""}
            </option>
          ))}
        </select>
        <small>A new job with the same spec begins there; its curves are joined to these.</small>
      </label>
      {going.error && <Trouble error={going.error} what="That was refused." />}
    </Dialog>
  );
}
