/** The API as its own document describes it: `schema.d.ts` is generated, never written. */

import createClient, { type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema";
import { session } from "./session";

export type Schemas = components["schemas"];
export type Job = Schemas["JobView"];
export type JobRow = Schemas["JobSummary"];
export type Attempt = Schemas["AttemptView"];
export type PodEvent = Schemas["EventView"];
export type Checkpoint = Schemas["CheckpointView"];
export type Glance = Schemas["GlanceView"];
export type Progress = Schemas["ProgressView"];
export type Series = Schemas["SeriesView"];
export type Slice = Schemas["SliceView"];
export type Problem = Schemas["Problem"];

/** What the server refused, or that it did not answer. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    detail: string,
    readonly faults: { path: string; message: string }[] = [],
  ) {
    super(detail);
  }
}

const authorise: Middleware = {
  onRequest({ request }) {
    const token = session.token();
    if (token) request.headers.set("Authorization", `Bearer ${token}`);
    return request;
  },
  onResponse({ response }) {
    if (response.status === 401) session.close();
    return response;
  },
};

/** List parameters are repeated: `?id=a&id=b`. */
export const http = createClient<paths>({ baseUrl: "", querySerializer: { array: { style: "form", explode: true } } });
http.use(authorise);

type Answer<T> = { data?: T; error?: unknown; response: Response };

/** The body of an answer, or its problem as an error. */
export async function body<T>(asked: Promise<Answer<T>>): Promise<T> {
  let answer: Answer<T>;
  try {
    answer = await asked;
  } catch {
    throw new ApiProblem(0, "The server does not answer.");
  }
  if (answer.response.ok) return answer.data as T;
  throw problemOf(answer.response.status, answer.error);
}

export function problemOf(status: number, error: unknown): ApiProblem {
  const problem = (typeof error === "object" && error !== null ? error : {}) as Partial<Problem>;
  return new ApiProblem(status, problem.detail ?? `The server answered ${status}.`, problem.errors ?? []);
}

/** A key that makes a repeated POST harmless. `crypto.randomUUID` would need a secure context. */
export function idempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
