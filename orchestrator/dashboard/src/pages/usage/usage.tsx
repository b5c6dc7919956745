/** What projects used: chip hours by day, as the API measured them. */

import { useQueries, useQuery } from "@tanstack/react-query";
import { body, http, type Schemas } from "../../api/client";
import { chipHours, count, day } from "../../format";
import { useAddress } from "../../parts/address";
import { Empty, Trouble } from "../../parts/parts";
import "../../styles/fleet.css";

const DAY = 86_400_000;
const SPANS = [7, 14, 28];
const COLOURS = 8;

export default function Usage() {
  const [asked, change] = useAddress();
  const days = SPANS.find((one) => String(one) === asked.get("days")) ?? 7;
  const projects = useQuery({ queryKey: ["projects"], queryFn: () => body(http.GET("/api/v1/projects")), staleTime: 60_000 });
  const names = projects.data?.items.map((project) => project.name) ?? [];
  const today = new Date().setHours(0, 0, 0, 0);
  const starts = Array.from({ length: days }, (_, at) => today - (days - 1 - at) * DAY);
  const cells = useQueries({
    queries: names.flatMap((project) =>
      starts.map((since) => ({
        queryKey: ["usage", project, since],
        queryFn: () => usageOf(project, since, since + DAY),
        staleTime: since === today ? 60_000 : Number.POSITIVE_INFINITY,
      })),
    ),
  });
  const spent = (project: number, at: number): number => cells[project * days + at]?.data?.chip_ms ?? 0;
  const totals = starts.map((_, at) => names.reduce((sum, _name, project) => sum + spent(project, at), 0));
  const most = Math.max(1, ...totals);
  const pending = projects.isPending || cells.some((cell) => cell.isPending);
  const trouble = cells.find((cell) => cell.error)?.error;
  const all = totals.reduce((sum, one) => sum + one, 0);
  return (
    <div className="page">
      <div className="head">
        <h1>Usage</h1>
        <span className="quiet number">{pending ? "adding up …" : `${chipHours(all)} chip hours`}</span>
        <span className="grow" />
        <select aria-label="Span" value={days} onChange={(event) => change({ days: event.target.value })}>
          {SPANS.map((one) => (
            <option key={one} value={one}>
              {one} days
            </option>
          ))}
        </select>
      </div>
      {projects.error && <Trouble error={projects.error} what="The projects could not be read." />}
      {trouble && <Trouble error={trouble} what="Not all could be read; what is shown is too little." />}
      {projects.data && names.length === 0 && <Empty title="You are in no project yet" />}
      <section className="card" aria-label="Chip hours by day and project">
        <header>
          <h2>Chip hours by day</h2>
        </header>
        <div className="body bars" aria-busy={pending}>
          {starts.map((since, at) => (
            <div className="column" key={since}>
              <div
                className="pile"
                role="img"
                aria-label={`${day(since)}: ${chipHours(totals[at] ?? 0)} chip hours`}
              >
                {names.map((name, project) => (
                  <i
                    key={name}
                    title={`${name}, ${day(since)}: ${chipHours(spent(project, at))} chip hours`}
                    style={{
                      height: `${(100 * spent(project, at)) / most}%`,
                      background: `var(--c-${(project % COLOURS) + 1})`,
                    }}
                  />
                ))}
              </div>
              <span>{day(since)}</span>
            </div>
          ))}
        </div>
      </section>
      <section className="card" aria-label="By project">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Project</th>
              <th scope="col" className="right">
                Chip hours
              </th>
              <th scope="col" className="right">
                Attempts
              </th>
              <th scope="col" className="right">
                Chips now
              </th>
              <th scope="col" className="right">
                Jobs in all
              </th>
            </tr>
          </thead>
          <tbody className="number">
            {names.map((name, project) => {
              const mine = starts.map((_, at) => cells[project * days + at]?.data);
              const newest = mine.at(-1);
              return (
                <tr key={name}>
                  <td>
                    <i className="swatch" style={{ background: `var(--c-${(project % COLOURS) + 1})` }} aria-hidden="true" /> {name}
                  </td>
                  <td className="right">{chipHours(mine.reduce((sum, one) => sum + (one?.chip_ms ?? 0), 0))}</td>
                  <td className="right">{count(mine.reduce((sum, one) => sum + (one?.attempts ?? 0), 0))}</td>
                  <td className="right">{count(newest?.chips_now ?? 0)}</td>
                  <td className="right">{count(Object.values(newest?.jobs ?? {}).reduce((sum, one) => sum + one, 0))}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
    </div>
  );
}

function usageOf(project: string, since_ms: number, until_ms: number): Promise<Schemas["UsageView"]> {
  const params = { path: { project }, query: { since_ms, until_ms } };
  return body(http.GET("/api/v1/projects/{project}/usage", { params }));
}
