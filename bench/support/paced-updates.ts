import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { spawnPinned } from './child.ts';
import { GENERATOR_CORE } from './machine.ts';
import type { LoadedGrove } from './stage.ts';

const program = join(import.meta.dirname, '..', 'generators', 'paced-updates.ts');

/** A stretch of time, in milliseconds since 1970. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One update: when it was due and when it was answered. */
type Update = readonly [dueMs: number, doneMs: number];

/** The present moment as {@link Span} counts, good to a fraction of a millisecond. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Somebody who goes on updating articles while something else happens. */
export class PacedUpdates {
  readonly #child: ChildProcess;
  #output = '';
  #complaints = '';

  /** @param perSecond far below what the server can take: what is measured is how long an update waits */
  constructor({ server, articles }: LoadedGrove, connections: number, perSecond: number) {
    const settings = [server.port, server.token, articles, connections, perSecond];
    this.#child = spawnPinned(GENERATOR_CORE, process.execPath, [program, ...settings.map(String)], {});
    this.#child.stdout?.on('data', (chunk) => (this.#output += chunk));
    this.#child.stderr?.on('data', (chunk) => (this.#complaints += chunk));
  }

  /**
   * Stops it and waits for the last answer.
   *
   * @throws {Error} when an update was not answered 200
   */
  async end(): Promise<Latencies> {
    const closed = once(this.#child, 'close');
    this.#child.stdin?.end();
    const [code] = await closed;
    if (code !== 0) throw new Error(`the updates ended with ${code}:\n${this.#complaints}`);
    return new Latencies(JSON.parse(this.#output) as Update[]);
  }
}

/** How long updates took. */
export class Latencies {
  readonly #updates: readonly Update[];

  constructor(updates: readonly Update[]) {
    this.#updates = updates;
  }

  /** Of the updates that waited at some moment of the spans, in milliseconds and rising. */
  during(spans: readonly Span[]): number[] {
    return this.#updates
      .filter(([due, done]) => spans.some(({ fromMs, toMs }) => due <= toMs && done >= fromMs))
      .map(([due, done]) => done - due)
      .sort((a, b) => a - b);
  }
}
