/**
 * One stream of events for the whole application. `EventSource` cannot send a token except in the address, so the
 * stream is read with fetch. It goes on where it was cut off.
 */

import { createParser } from "eventsource-parser";
import type { PodEvent } from "./client";
import { session } from "./session";

export type Connection = "connecting" | "live" | "lost";

const GATHER_MS = 120;
const RETRY_MS = [500, 1_000, 2_000, 5_000, 10_000];

type OnEvents = (events: PodEvent[]) => void;

class Live {
  private readonly listeners = new Set<OnEvents>();
  private readonly watchers = new Set<() => void>();
  private gathered: PodEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastId: string | null = null;
  private state: Connection = "connecting";

  connection = (): Connection => this.state;

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  subscribe(listener: OnEvents): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  start(): () => void {
    const abort = new AbortController();
    void this.run(abort.signal);
    return () => abort.abort();
  }

  private async run(signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted; failures++) {
      try {
        await this.follow(signal, () => {
          failures = 0;
        });
      } catch {
        // A lost connection is shown, and tried again.
      }
      if (signal.aborted) return;
      this.become("lost");
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]));
    }
  }

  private async follow(signal: AbortSignal, onOpen: () => void): Promise<void> {
    const headers: Record<string, string> = { Authorization: `Bearer ${session.token() ?? ""}` };
    if (this.lastId !== null) headers["Last-Event-ID"] = this.lastId;
    const answer = await fetch("/api/v1/events/stream", { headers, signal });
    if (answer.status === 401) session.close();
    if (!answer.ok || answer.body === null) throw new Error(`the stream answered ${answer.status}`);
    onOpen();
    this.become("live");
    const parser = createParser({
      onEvent: (event) => {
        if (event.id !== undefined) this.lastId = event.id;
        this.gather(JSON.parse(event.data) as PodEvent);
      },
    });
    const text = answer.body.pipeThrough(new TextDecoderStream());
    for await (const part of text) parser.feed(part);
  }

  /** Events come in bursts; listeners hear of each burst once. */
  private gather(event: PodEvent): void {
    this.gathered.push(event);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      const events = this.gathered;
      this.gathered = [];
      for (const listener of this.listeners) listener(events);
    }, GATHER_MS);
  }

  private become(state: Connection): void {
    if (state === this.state) return;
    this.state = state;
    for (const watcher of this.watchers) watcher();
  }
}

export const live = new Live();
