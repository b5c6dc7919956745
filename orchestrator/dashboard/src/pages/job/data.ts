/** What the page of a job asks for. The stream of events says when to ask again; measurements of live jobs are polled. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { body, http, type PodEvent } from "../../api/client";
import { live } from "../../api/live";

const MEASURED_MS = 2_500;
const POINTS = 1_500;
const EVENTS_PAGE = 1_000;
const EVENTS_PAGES = 5;

export function useJob(id: string) {
  const queries = useQueryClient();
  useEffect(
    () =>
      live.subscribe((events) => {
        if (events.some((event) => event.job_id === id)) void queries.invalidateQueries({ queryKey: ["job", id] });
      }),
    [id, queries],
  );
  return useQuery({
    queryKey: ["job", id, "view"],
    queryFn: () => body(http.GET("/api/v1/jobs/{job}", { params: { path: { job: id } } })),
    refetchInterval: (query) => (query.state.data?.attempt?.live ? MEASURED_MS : false),
  });
}

const path = (job: string) => ({ path: { job } });

export const useAttempts = (id: string) =>
  useQuery({
    queryKey: ["job", id, "attempts"],
    queryFn: () => body(http.GET("/api/v1/jobs/{job}/attempts", { params: path(id) })),
  });

export const useCheckpoints = (id: string, running: boolean) =>
  useQuery({
    queryKey: ["job", id, "checkpoints"],
    queryFn: () => body(http.GET("/api/v1/jobs/{job}/checkpoints", { params: path(id) })),
    refetchInterval: running ? 4 * MEASURED_MS : false,
  });

export const useLedger = (id: string, running: boolean) =>
  useQuery({
    queryKey: ["job", id, "ledger"],
    queryFn: () => body(http.GET("/api/v1/jobs/{job}/ledger", { params: path(id) })),
    refetchInterval: running ? 4 * MEASURED_MS : false,
  });

export const useEvents = (id: string) =>
  useQuery({ queryKey: ["job", id, "events"], queryFn: () => allEvents(id) });

async function allEvents(id: string): Promise<PodEvent[]> {
  const found: PodEvent[] = [];
  let after: number | undefined;
  for (let page = 0; page < EVENTS_PAGES; page++) {
    const query = { limit: EVENTS_PAGE, after };
    const answer = await body(http.GET("/api/v1/jobs/{job}/events", { params: { ...path(id), query } }));
    found.push(...answer.items);
    if (answer.next_after === null) break;
    after = answer.next_after;
  }
  return found;
}

export const useNames = (id: string, running: boolean) =>
  useQuery({
    queryKey: ["job", id, "names"],
    queryFn: () => body(http.GET("/api/v1/jobs/{job}/metrics/names", { params: path(id) })),
    refetchInterval: running ? 4 * MEASURED_MS : false,
  });

export const useMetrics = (id: string, series: string[], running: boolean) =>
  useQuery({
    queryKey: ["metrics", id, series],
    enabled: series.length > 0,
    queryFn: () =>
      body(
        http.GET("/api/v1/jobs/{job}/metrics", { params: { ...path(id), query: { series, points_each: POINTS } } }),
      ),
    refetchInterval: running ? MEASURED_MS : false,
    placeholderData: (old) => old,
  });
