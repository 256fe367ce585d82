import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { spawnPinned } from './child.ts';
import { GENERATOR_CORE } from './machine.ts';
import type { LoadedGrove } from './stage.ts';

const program = join(import.meta.dirname, '..', 'generators', 'paced-updates.ts');

/** An interval, in milliseconds since 1970. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One update: when it was due and when it was answered. */
type Update = readonly [dueMs: number, doneMs: number];

/** The present time on the clock of {@link Span}, with a precision below a millisecond. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Updates articles at a constant rate in another process. */
export class PacedUpdates {
  readonly #child: ChildProcess;
  #output = '';
  #complaints = '';

  /** @param perSecond far below the capacity of the server, because the wait of an update is measured */
  constructor({ server, articles }: LoadedGrove, connections: number, perSecond: number) {
    const settings = [server.port, server.token, articles, connections, perSecond];
    this.#child = spawnPinned(GENERATOR_CORE, process.execPath, [program, ...settings.map(String)], {});
    this.#child.stdout?.on('data', (chunk) => (this.#output += chunk));
    this.#child.stderr?.on('data', (chunk) => (this.#complaints += chunk));
  }

  /**
   * Stops the updates and waits for the last answer.
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

/** Latencies of updates. */
export class Latencies {
  readonly #updates: readonly Update[];

  constructor(updates: readonly Update[]) {
    this.#updates = updates;
  }

  /** Latencies of the updates that overlap the spans, in milliseconds, ascending. */
  during(spans: readonly Span[]): number[] {
    return this.#updates
      .filter(([due, done]) => spans.some(({ fromMs, toMs }) => due <= toMs && done >= fromMs))
      .map(([due, done]) => done - due)
      .sort((a, b) => a - b);
  }
}
