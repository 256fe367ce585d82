import { closeSync, constants, ftruncateSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#runtime/base/time/clock.ts';
import { runInTurns } from '#runtime/base/event-loop/run-in-slices.ts';
import { openRegularSync } from '#runtime/base/files/regular-file.ts';
import type { ActorId } from '../ports.ts';

/** File beside the actors that lists the shards in use. No actor id begins like this. */
const FILE = '.in-hand';

/** Minimum lifetime after which a crash of the process counts as the first one again, in milliseconds. */
const SHORT_LIFE_MS = 600_000;

/** Maximum bytes read of the file; the rest is ignored. */
const READ_BYTES_MAX = 4 * 1024 * 1024;

/** Lines above which the file is rewritten. */
const LINES_MAX = 8_192;

const { O_APPEND, O_CREAT, O_WRONLY } = constants;

/**
 * State of a shard in a line. `opening`: it is being opened or brought up to date with the log. `open`: it is open.
 * `again`: it is open, and was open when the previous process ended. `damaged`: it was verified and is damaged.
 * `closed`: it is not in use.
 */
type Mark = 'opening' | 'open' | 'again' | 'damaged' | 'closed';

const line = /^(opening|open|again|damaged|closed) (\S+)$/;
const startLine = /^start (\d{1,15})$/;

/** State left by an earlier process. */
interface Left {
  readonly startMs: number | undefined;
  readonly marks: ReadonlyMap<ActorId, Mark>;
}

/** Verifies the shards of a process. */
export interface ShardVerifier {
  /** Whether the actor exists: a damaged line may contain any name. */
  isActor(actor: string): boolean;
  /** Reads all of a shard. @returns yields between steps; returns the damage */
  verify(actor: ActorId): Generator<undefined, string | undefined>;
  /** Called before a shard is verified. */
  onVerifying?(actor: ActorId, done: number, of: number): void;
}

/** Releases nothing. */
const nothing = (): void => {};

/**
 * Records in a file which shards the process is using, because LMDB crashes the process on some damaged pages. The next
 * process verifies the shards that may have caused a crash, so that damage of one actor does not crash every start.
 *
 * The records survive the end of the process but not a power failure: nothing is flushed. They may be incomplete: parts
 * that cannot be read or written are ignored, and never make an operation fail. A superfluous record costs the
 * verification of one file.
 *
 * @see docs/decisions/0043-crashing-shards.md
 */
export class CrashSuspects {
  readonly #path: string;
  readonly #clock: Clock;
  readonly #busy = new Map<ActorId, number>();
  readonly #open = new Map<ActorId, number>();
  readonly #noted = new Map<ActorId, Mark>();
  readonly #damaged = new Map<ActorId, string>();
  /** Shards that the previous process had open when it ended. */
  #before: ReadonlySet<ActorId> = new Set();
  #descriptor: number | undefined;
  #lines = 0;
  #startMs = 0;
  #hasBegun = false;

  /** @param folder folder of all actors */
  constructor(folder: string, clock: Clock) {
    this.#path = join(folder, FILE);
    this.#clock = clock;
  }

  /**
   * Verifies the shards that an earlier process was using when it ended, and starts recording those of this process.
   * Must be called before any shard is opened; further calls do nothing.
   */
  async begin(verifier: ShardVerifier): Promise<void> {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const left = this.#read();
    this.#startMs = Math.floor(this.#clock.wallMs());
    const ageMs = this.#startMs - (left.startMs ?? Number.NEGATIVE_INFINITY);
    const wasShort = ageMs >= 0 && ageMs < SHORT_LIFE_MS;
    const suspects: ActorId[] = [];
    const before = new Set<ActorId>();
    for (const [actor, mark] of left.marks) {
      if (mark === 'closed' || !verifier.isActor(actor)) continue;
      if (mark === 'open' || (mark === 'again' && !wasShort)) before.add(actor);
      else suspects.push(actor);
    }
    this.#before = before;
    if (left.marks.size === 0) return;
    // Shards that are not verified yet stay recorded, because this process may crash too.
    for (const actor of suspects) this.#noted.set(actor, left.marks.get(actor) as Mark);
    this.#rewrite();
    for (const [index, actor] of suspects.entries()) {
      verifier.onVerifying?.(actor, index, suspects.length);
      const what = await this.#verified(verifier.verify(actor));
      if (what !== undefined) this.#damaged.set(actor, what);
      this.#update(actor);
    }
  }

  /** The known damage of an actor's shard. */
  damageOf(actor: ActorId): string | undefined {
    return this.#damaged.get(actor);
  }

  /**
   * Records an operation on a shard that reads its pages.
   *
   * @returns must be called when it is finished
   */
  take(actor: ActorId): () => void {
    return this.#count(this.#busy, actor);
  }

  /**
   * Records that a shard is open.
   *
   * @returns must be called when it is closed
   */
  opened(actor: ActorId): () => void {
    return this.#count(this.#open, actor);
  }

  /** The files of these actors were replaced or removed. */
  forget(isMeant: (actor: ActorId) => boolean): void {
    for (const actor of [...this.#damaged.keys()]) {
      if (!isMeant(actor)) continue;
      this.#damaged.delete(actor);
      this.#update(actor);
    }
  }

  #count(counts: Map<ActorId, number>, actor: ActorId): () => void {
    if (!this.#hasBegun) return nothing;
    counts.set(actor, (counts.get(actor) ?? 0) + 1);
    this.#update(actor);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const rest = (counts.get(actor) ?? 0) - 1;
      if (rest > 0) counts.set(actor, rest);
      else counts.delete(actor);
      this.#update(actor);
    };
  }

  #markOf(actor: ActorId): Mark {
    if (this.#damaged.has(actor)) return 'damaged';
    if (this.#busy.has(actor)) return 'opening';
    if (!this.#open.has(actor)) return 'closed';
    return this.#before.has(actor) ? 'again' : 'open';
  }

  #update(actor: ActorId): void {
    const mark = this.#markOf(actor);
    if (mark === (this.#noted.get(actor) ?? 'closed')) return;
    if (mark === 'closed') this.#noted.delete(actor);
    else this.#noted.set(actor, mark);
    if (this.#noted.size === 0) this.#remove();
    else if (this.#descriptor === undefined || this.#lines >= LINES_MAX + 2 * this.#noted.size)
      this.#rewrite();
    else this.#write(`${mark} ${actor}\n`);
  }

  async #verified(work: Generator<undefined, string | undefined>): Promise<string | undefined> {
    try {
      return await runInTurns(this.#clock, work);
    } catch (error) {
      return (error as Error).message;
    }
  }

  #read(): Left {
    const marks = new Map<ActorId, Mark>();
    let startMs: number | undefined;
    for (const text of textOf(this.#path).split('\n')) {
      const [, mark, actor] = line.exec(text) ?? [];
      if (actor !== undefined) marks.set(actor, mark as Mark);
      const start = startLine.exec(text)?.[1];
      if (start !== undefined) startMs = Number(start);
    }
    return { marks, startMs };
  }

  #write(text: string): void {
    try {
      if (this.#descriptor !== undefined) writeSync(this.#descriptor, text);
      this.#lines += 1;
    } catch {
      // A full disk: the record is missing.
    }
  }

  /** Replaces the file with the current state. */
  #rewrite(): void {
    this.#close();
    const part = `${this.#path}.part`;
    const lines = [`start ${this.#startMs}`, ...[...this.#noted].map(([actor, mark]) => `${mark} ${actor}`)];
    try {
      const descriptor = openRegularSync(part, O_WRONLY | O_CREAT | O_APPEND, 0o600);
      this.#descriptor = descriptor;
      ftruncateSync(descriptor);
      writeSync(descriptor, `${lines.join('\n')}\n`);
      renameSync(part, this.#path);
      this.#lines = lines.length;
    } catch {
      this.#close();
    }
  }

  #remove(): void {
    this.#close();
    try {
      rmSync(this.#path, { force: true });
    } catch {
      // A folder may have this name.
    }
  }

  #close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** Empty when the file cannot be read. */
function textOf(path: string): string {
  try {
    const descriptor = openRegularSync(path);
    try {
      const bytes = Buffer.alloc(READ_BYTES_MAX);
      return bytes.latin1Slice(0, readSync(descriptor, bytes, 0, READ_BYTES_MAX, 0));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return '';
  }
}
