/** Who is signed in. */

import { useQuery } from "@tanstack/react-query";
import { body, http } from "../api/client";

export function useMe() {
  return useQuery({ queryKey: ["me"], queryFn: () => body(http.GET("/api/v1/me")), staleTime: 60_000 });
}
