import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { spawnPinned } from './child.ts';
import { GENERATOR_CORE } from './machine.ts';
import type { LoadedGrove } from './stage.ts';

const program = join(import.meta.dirname, '..', 'generators', 'paced-writes.ts');

/** An interval, in milliseconds since 1970. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** One write: when it was due and when it was answered. */
type Write = readonly [dueMs: number, doneMs: number];

/** The present time on the clock of {@link Span}, with a precision below a millisecond. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}

/** Updates articles, or creates them, at a constant rate in another process. */
export class PacedWrites {
  readonly #child: ChildProcess;
  #output = '';
  #complaints = '';

  /** @param perSecond far below the capacity of the server, because the wait of a write is measured */
  constructor(
    { server, articles }: Omit<LoadedGrove, 'idsFile'>,
    kind: 'update' | 'create',
    connections: number,
    perSecond: number,
  ) {
    const settings = [server.port, server.token, articles, connections, perSecond, kind];
    this.#child = spawnPinned(GENERATOR_CORE, process.execPath, [program, ...settings.map(String)], {});
    this.#child.stdout?.on('data', (chunk) => (this.#output += chunk));
    this.#child.stderr?.on('data', (chunk) => (this.#complaints += chunk));
  }

  /** Resolves when the first write was answered. @throws {Error} when the process ended before */
  async begun(): Promise<void> {
    if (this.#output !== '') return;
    const ended = once(this.#child, 'close').then(() => {
      throw new Error(`the writes did not begin:\n${this.#complaints}`);
    });
    await Promise.race([once(this.#child.stdout as Readable, 'data'), ended]);
    // It ends later, when it is asked to.
    ended.catch(() => {});
  }

  /**
   * Stops the writes and waits for the last answer.
   *
   * @throws {Error} when a write was not answered 200 or 201
   */
  async end(): Promise<Latencies> {
    const closed = once(this.#child, 'close');
    this.#child.stdin?.end();
    const [code] = await closed;
    if (code !== 0) throw new Error(`the writes ended with ${code}:\n${this.#complaints}`);
    return new Latencies(JSON.parse(this.#output) as Write[]);
  }
}

/** Latencies of writes. */
export class Latencies {
  readonly #writes: readonly Write[];

  constructor(writes: readonly Write[]) {
    this.#writes = writes;
  }

  /** Latencies of the writes that overlap the spans, in milliseconds, ascending. */
  during(spans: readonly Span[]): number[] {
    return this.#writes
      .filter(([due, done]) => spans.some(({ fromMs, toMs }) => due <= toMs && done >= fromMs))
      .map(([due, done]) => done - due)
      .sort((a, b) => a - b);
  }
}
