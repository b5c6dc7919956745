/** The fleet as it is, and who held what lately. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { body, http } from "../../api/client";
import { live } from "../../api/live";

const ASK_MS = 10_000;
const QUIET_MS = 1_000;

/** Asks again when something happened, at most once a second. */
export function useFresh(key: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    let waiting: ReturnType<typeof setTimeout> | undefined;
    const stop = live.subscribe(() => {
      waiting ??= setTimeout(() => {
        waiting = undefined;
        void queries.invalidateQueries({ queryKey: [key] });
      }, QUIET_MS);
    });
    return () => {
      stop();
      clearTimeout(waiting);
    };
  }, [key, queries]);
}

const asked = <T>(name: string, ask: () => Promise<T>) => ({
  queryKey: ["fleet", name],
  queryFn: ask,
  refetchInterval: ASK_MS,
});

export const usePools = () => useQuery(asked("pools", () => body(http.GET("/api/v1/pools"))));
export const useSlices = () => useQuery(asked("slices", () => body(http.GET("/api/v1/slices"))));
export const useHosts = () => useQuery(asked("hosts", () => body(http.GET("/api/v1/hosts"))));
export const useClusters = () => useQuery(asked("clusters", () => body(http.GET("/api/v1/clusters"))));

export const useStays = (sinceMs: number) =>
  useQuery({
    queryKey: ["fleet", "stays", sinceMs],
    queryFn: () => body(http.GET("/api/v1/occupancy", { params: { query: { since_ms: sinceMs, limit: 2_000 } } })),
    refetchInterval: ASK_MS,
    placeholderData: (old) => old,
  });
