/** The slices of an attempt as their chips lie on the torus, each host's four together, coloured by what is known of its rank. */

import type { Attempt } from "../../api/client";

const PER_HOST = 4;

export interface HostLook {
  kind: string;
  title: string;
}

/** Chips of a topology in planes: hosts hold 2x2 blocks, numbered along the last side first. */
export function planes(topology: string): number[][][] {
  const sides = topology.split("x").map(Number);
  const rows = sides[0] ?? 1;
  const columns = sides[1] ?? 1;
  const deep = sides[2] ?? 1;
  const chips = rows * columns * deep;
  const hosts = Math.max(1, chips / PER_HOST);
  const across = Math.max(1, columns / 2);
  return Array.from({ length: deep }, (_, plane) =>
    Array.from({ length: rows }, (_, row) =>
      Array.from({ length: columns }, (_, column) => {
        const inPlane = Math.floor(row / 2) * across + Math.floor(column / 2);
        const host = plane * Math.max(1, hosts / deep) + inPlane;
        return Math.min(hosts - 1, Math.floor(host));
      }),
    ),
  );
}

export function Torus({ shape, name, look }: { shape: string; name: string; look: (host: number) => HostLook }) {
  const topology = shape.split(":")[1] ?? "1x1";
  return (
    <figure className="torus">
      <div className="planes">
        {planes(topology).map((plane, at) => (
          <div className="plane" key={at} style={{ gridTemplateColumns: `repeat(${plane[0]?.length ?? 1}, 1fr)` }}>
            {plane.flatMap((row, y) =>
              row.map((host, x) => {
                const one = look(host);
                return <i key={`${y} ${x}`} className={`chip-cell ${one.kind}`} title={one.title} />;
              }),
            )}
          </div>
        ))}
      </div>
      <figcaption className="mono">
        {name} <span className="quiet">{shape}</span>
      </figcaption>
    </figure>
  );
}

export function AttemptTorus({ attempt, shape }: { attempt: Attempt; shape: string }) {
  const culprit = attempt.cause;
  return (
    <div className="row wrap tori">
      {attempt.slices.map((slice) => (
        <Torus
          key={slice}
          shape={shape}
          name={slice}
          look={(host) => {
            const rank = attempt.ranks.find((one) => one.slice_id === slice && one.host === host);
            const guilty = culprit?.slice_id === slice && culprit.host === host;
            const kind = guilty ? "FAILED" : attempt.live ? (rank ? "RUNNING" : "STARTING") : "CANCELLED";
            const who = rank ? `rank ${rank.rank}, process ${rank.pid}` : "no process yet";
            return { kind, title: `${slice}/${host}: ${who}${guilty ? `: ${culprit.sentence}` : ""}` };
          }}
        />
      ))}
    </div>
  );
}
