/** The jobs that the filters find, page by page, kept true by the stream of events. */

import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useRef } from "react";
import { body, type Glance, http, type JobRow, type Schemas } from "../../api/client";
import { live } from "../../api/live";

export interface Filters {
  state: Schemas["JobState"][];
  search: string;
  project: string;
  owner: string;
  array: string;
}

type Page = Schemas["JobList"];
type Pages = InfiniteData<Page, string | null>;

const PAGE = 200;
const MOST_AT_ONCE = 200;
const COUNTS_MS = 1_500;
const GLANCE_MS = 3_000;

export const queryOf = (filters: Filters) => ({
  state: filters.state.length ? filters.state : undefined,
  search: filters.search || undefined,
  project: filters.project || undefined,
  owner: filters.owner || undefined,
  array: filters.array || undefined,
});

export function useJobs(filters: Filters) {
  const queries = useQueryClient();
  const key = useMemo(() => ["jobs", filters], [filters]);
  const found = useInfiniteQuery({
    queryKey: key,
    initialPageParam: null as string | null,
    queryFn: ({ pageParam, signal }) =>
      body(
        http.GET("/api/v1/jobs", {
          params: { query: { ...queryOf(filters), limit: PAGE, cursor: pageParam ?? undefined } },
          signal,
        }),
      ),
    getNextPageParam: (page) => page.next_cursor,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });

  useEffect(
    () =>
      live.subscribe((events) => {
        const ids = [...new Set(events.flatMap((event) => event.job_id ?? []))];
        if (ids.length > MOST_AT_ONCE) void queries.invalidateQueries({ queryKey: key });
        else if (ids.length) void renew(ids);
      }),
  );

  async function renew(ids: string[]): Promise<void> {
    const asked = { ...queryOf(filters), id: ids, limit: MOST_AT_ONCE };
    const fresh = await body(http.GET("/api/v1/jobs", { params: { query: asked } })).catch(() => null);
    if (fresh) queries.setQueryData<Pages>(key, (old) => old && patched(old, ids, fresh.items));
  }

  const rows = useMemo(() => (found.data ? found.data.pages.flatMap((page) => page.items) : []), [found.data]);
  return { ...found, rows };
}

/** The pages with these jobs as they are now: changed in place, gone if the filters find them no more, new on top. */
export function patched(old: Pages, ids: string[], fresh: JobRow[]): Pages {
  const asked = new Set(ids);
  const byId = new Map(fresh.map((job) => [job.id, job]));
  const pages = old.pages.map((page) => {
    if (!page.items.some((job) => asked.has(job.id))) return page;
    const items = page.items.flatMap((job) => {
      if (!asked.has(job.id)) return [job];
      const now = byId.get(job.id);
      byId.delete(job.id);
      return now ? [now] : [];
    });
    return { ...page, items };
  });
  const first = pages[0];
  if (!first || byId.size === 0) return { ...old, pages };
  // What is on no page is new, or on a page that was not fetched yet: only the first kind goes on top.
  const newest = first.items[0]?.created_at_ms ?? 0;
  const added = [...byId.values()].filter((job) => job.created_at_ms >= newest);
  pages[0] = { ...first, items: [...added, ...first.items] };
  return { ...old, pages };
}

export function useCounts(filters: Filters) {
  const queries = useQueryClient();
  const { state: _, ...asked } = queryOf(filters);
  useEffect(() => {
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const stop = live.subscribe(() => {
      waiting ??= setTimeout(() => {
        waiting = undefined;
        void queries.invalidateQueries({ queryKey: ["counts"] });
      }, COUNTS_MS);
    });
    return () => {
      stop();
      clearTimeout(waiting);
    };
  }, [queries]);
  return useQuery({
    queryKey: ["counts", asked],
    queryFn: () => body(http.GET("/api/v1/jobs/counts", { params: { query: asked } })),
    placeholderData: keepPreviousData,
  });
}

/** Progress and curves of the rows in sight, once they stand `still`; those of ended jobs are asked for once. */
export function useGlances(rows: JobRow[], still: boolean): Map<string, Glance> {
  const kept = useRef(new Map<string, { version: number; glance: Glance }>());
  const wanted = rows.filter((job) => {
    if (job.attempts === 0) return false;
    return isLive(job) || kept.current.get(job.id)?.version !== job.version;
  });
  const ids = wanted.slice(0, 100).map((job) => job.id);
  useQuery({
    queryKey: ["glances", ids],
    enabled: still && ids.length > 0,
    queryFn: async ({ signal }) => {
      const answer = await body(http.GET("/api/v1/jobs/glances", { params: { query: { id: ids } }, signal }));
      const versions = new Map(wanted.map((job) => [job.id, job.version]));
      for (const glance of answer.items)
        kept.current.set(glance.id, { version: versions.get(glance.id) ?? 0, glance });
      return answer.items;
    },
    refetchInterval: wanted.some(isLive) ? GLANCE_MS : false,
    staleTime: GLANCE_MS,
  });
  const shown = new Map<string, Glance>();
  for (const job of rows) {
    const one = kept.current.get(job.id);
    if (one) shown.set(job.id, one.glance);
  }
  return shown;
}

const LIVE = new Set(["STARTING", "RUNNING", "STOPPING"]);
export const isLive = (job: { state: string }): boolean => LIVE.has(job.state);
