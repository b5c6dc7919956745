/** The fleet: pools, and of each its slices as tori; what is taken out, by whom and why; cordon, drain and the rest. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { body, http, type Schemas, type Slice } from "../../api/client";
import { count, moment, shortSpan } from "../../format";
import { Dialog, Empty, Trouble, useMinute, useNow, When } from "../../parts/parts";
import { say } from "../../parts/toasts";
import { useMe } from "../../parts/me";
import "../../styles/job.css";
import "../../styles/fleet.css";
import { Torus } from "../job/torus";
import { useClusters, useFresh, useHosts, usePools, useSlices, useStays } from "./data";

type Stay = Schemas["StayView"];
type Host = Schemas["HostView"];

const VERBS = ["cordon", "drain", "quarantine", "readmit"] as const;
type Verb = (typeof VERBS)[number];

const SAYS: Record<Verb, string> = {
  cordon: "Nothing new starts there; what runs goes on.",
  drain: "Nothing new starts there, and what runs goes on elsewhere.",
  quarantine: "It is suspected to be broken: nothing new starts there.",
  readmit: "It is offered again.",
};

interface Target {
  kind: "pool" | "slice";
  name: string;
  verb: Verb;
}

export default function Fleet() {
  useFresh("fleet");
  const pools = usePools();
  const slices = useSlices();
  const hosts = useHosts();
  const minute = useMinute();
  const stays = useStays(minute);
  const [target, setTarget] = useState<Target | null>(null);
  const admin = useMe().data?.admin ?? false;
  const holders = new Map<string, Stay>();
  for (const stay of stays.data?.items ?? []) if (stay.until_ms === null) holders.set(stay.attempt_id, stay);
  return (
    <div className="page">
      <div className="head">
        <h1>Fleet</h1>
        <Clusters />
        <span className="grow" />
        <Legend />
      </div>
      {pools.error && <Trouble error={pools.error} what="The fleet could not be read." />}
      {pools.data?.items.length === 0 && (
        <div className="card">
          <Empty title="No slice has joined yet">
            <p>
              A cluster process brings its slices: <code>podwright up</code> emulates some on this machine; on TPU hosts start{" "}
              <code>python -m workers.cluster</code> beside the Ray head, with a cluster token.
            </p>
          </Empty>
        </div>
      )}
      {pools.data?.items.map((pool) => (
        <section className="card" key={pool.name + pool.cluster_id} aria-label={`Pool ${pool.name}`}>
          <header>
            <h2>{pool.name}</h2>
            <span className="mono quiet">{pool.shape}</span>
            <span className="quiet">{pool.capacity.replace("_", " ")}</span>
            <span className="quiet number">
              {count(pool.chips)} chips; {pool.busy} of {pool.slices} slices busy
              {pool.up < pool.slices && <>, {pool.slices - pool.up} down</>}
            </span>
            {pool.restriction && <Restricted restriction={pool.restriction} />}
            <span className="grow" />
            {admin && <Verbs kind="pool" name={pool.name} ask={setTarget} restricted={pool.restriction !== null} />}
          </header>
          <ul className="body slices">
            {slices.data?.items
              .filter((slice) => slice.pool === pool.name && slice.cluster_id === pool.cluster_id)
              .map((slice) => (
                <SliceCard
                  key={slice.id}
                  slice={slice}
                  stay={slice.attempt_id ? holders.get(slice.attempt_id) : undefined}
                  hosts={hosts.data?.items.filter((host) => host.slice_id === slice.id) ?? []}
                  verbs={
                    admin && (
                      <Verbs kind="slice" name={slice.id} ask={setTarget} restricted={slice.restriction !== null} />
                    )
                  }
                />
              ))}
          </ul>
        </section>
      ))}
      {target && <Ask target={target} onClose={() => setTarget(null)} />}
    </div>
  );
}

function SliceCard(props: { slice: Slice; stay: Stay | undefined; hosts: Host[]; verbs: React.ReactNode }) {
  const { slice, stay, hosts } = props;
  const now = useNow();
  const kind = slice.state !== "up" ? "FAILED" : slice.restriction ? "HELD" : slice.busy ? "RUNNING" : "free";
  return (
    <li className="slice">
      <Torus
        shape={slice.shape}
        name={slice.id}
        look={(host) => {
          const known = hosts.find((one) => one.host === host);
          const out = known?.restriction;
          return {
            kind: out ? "STOPPING" : kind,
            title: `${slice.id}/${host} ${known?.address ?? ""}${out ? `: ${out.limit}: ${out.reason}` : ""}`,
          };
        }}
      />
      <div className="slice-says">
        {slice.state !== "up" ? (
          <span>
            Down: {slice.message || "its cluster took it back"} <When at={slice.updated_at_ms}>{moment(slice.updated_at_ms)}</When>
          </span>
        ) : stay ? (
          <span className="ellipsis">
            <Link href={`/jobs/${stay.job_id}`}>{stay.job_name}</Link>{" "}
            <span className="quiet number">
              attempt {stay.number}, {shortSpan(now - stay.since_ms)}
            </span>
          </span>
        ) : (
          <span className="quiet">{slice.busy ? "busy, with a job of another project" : "free"}</span>
        )}
        {slice.suspicion && <span className="quiet">{slice.suspicion}</span>}
        {slice.restriction && <Restricted restriction={slice.restriction} />}
      </div>
      {props.verbs}
    </li>
  );
}

function Restricted({ restriction }: { restriction: Schemas["RestrictionView"] }) {
  return (
    <span title={moment(restriction.at_ms)}>
      <strong>{restriction.limit}</strong>: {restriction.reason} <span className="quiet">({restriction.actor})</span>
    </span>
  );
}

function Verbs(props: { kind: Target["kind"]; name: string; restricted: boolean; ask: (target: Target) => void }) {
  const { kind, name, restricted, ask } = props;
  return (
    <select
      className="verbs"
      aria-label={`Take ${name} out or back`}
      value=""
      onChange={(event) => ask({ kind, name, verb: event.target.value as Verb })}
    >
      <option value="" disabled>
        Change …
      </option>
      {VERBS.filter((verb) => restricted || verb !== "readmit").map((verb) => (
        <option key={verb} value={verb}>
          {verb}
        </option>
      ))}
    </select>
  );
}

function Ask({ target, onClose }: { target: Target; onClose: () => void }) {
  const queries = useQueryClient();
  const [reason, setReason] = useState("");
  const { kind, name, verb } = target;
  const ask = useMutation({
    mutationFn: async () => {
      const asked = { body: { reason } };
      if (kind === "pool") {
        await body(http.POST("/api/v1/pools/{pool}/{verb}", { params: { path: { pool: name, verb } }, ...asked }));
      } else {
        const path = { slice_id: name, verb };
        await body(http.POST("/api/v1/slices/{slice_id}/{verb}", { params: { path }, ...asked }));
      }
    },
    onSuccess: () => {
      say(`${name}: ${verb}`);
      void queries.invalidateQueries({ queryKey: ["fleet"] });
      onClose();
    },
  });
  return (
    <Dialog
      title={`${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${kind} ${name}`}
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>
            Back
          </button>
          <button type="button" className="primary" disabled={!reason.trim() || ask.isPending} onClick={() => ask.mutate()}>
            {verb}
          </button>
        </>
      }
    >
      <p>{SAYS[verb]}</p>
      <label className="field">
        Reason
        <input type="text" value={reason} onChange={(event) => setReason(event.target.value)} autoFocus />
        <small>Shown to everybody who looks at it, and kept in the history.</small>
      </label>
      {ask.error && <Trouble error={ask.error} what="That was refused." />}
    </Dialog>
  );
}

function Clusters() {
  const clusters = useClusters();
  const now = useNow();
  return (
    <>
      {clusters.data?.items.map((cluster) => (
        <span className="quiet number" key={cluster.id}>
          cluster {cluster.id}, heard {shortSpan(now - cluster.seen_at_ms)} ago
        </span>
      ))}
    </>
  );
}

function Legend() {
  const kinds = [
    ["free", "free"],
    ["RUNNING", "busy"],
    ["HELD", "taken out"],
    ["STOPPING", "host taken out"],
    ["FAILED", "down"],
  ];
  return (
    <ul className="row wrap legend" aria-label="Colours">
      {kinds.map(([kind, name]) => (
        <li className="row" key={kind}>
          <i className={`chip-cell ${kind}`} aria-hidden="true" /> {name}
        </li>
      ))}
    </ul>
  );
}
