import { closeSync, constants, ftruncateSync, readSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#runtime/base/clock.ts';
import { runInTurns } from '#runtime/base/run-in-slices.ts';
import { openRegularSync } from '#runtime/base/regular-file.ts';
import type { ActorId } from './ports.ts';

/** Beside the actors: which shards the process has in hand. No actor id begins like this. */
const FILE = '.in-hand';

/** Time a process has to live for its end to count as the first one again, in milliseconds. */
const SHORT_LIFE_MS = 600_000;

/** Bytes of the file that are looked at; what is behind them is not believed. */
const READ_BYTES_MAX = 4 * 1024 * 1024;

/** Lines above which the file is written anew. */
const LINES_MAX = 8_192;

const { O_APPEND, O_CREAT, O_WRONLY } = constants;

/**
 * What a line says of a shard. `opening`: it is being opened, or brought up to the log. `open`: it is open. `again`: it is,
 * and was when the process before ended. `damaged`: it was verified, and is. `closed`: nothing any more.
 */
type Mark = 'opening' | 'open' | 'again' | 'damaged' | 'closed';

const line = /^(opening|open|again|damaged|closed) (\S+)$/;
const startLine = /^start (\d{1,15})$/;

/** What an earlier process left. */
interface Left {
  readonly startMs: number | undefined;
  readonly marks: ReadonlyMap<ActorId, Mark>;
}

/** How the shards of a process are verified. */
export interface ShardVerifier {
  /** Whether there is such an actor: a line that cannot be read may name anything. */
  isActor(actor: string): boolean;
  /** Reads all of a shard. @returns pauses now and then; at the end what is damaged */
  verify(actor: ActorId): Generator<undefined, string | undefined>;
  /** Told when a shard begins to be verified. */
  onVerifying?(actor: ActorId, done: number, of: number): void;
}

/** Nothing is left to be let go of. */
const nothing = (): void => {};

/**
 * Notes in a file which shards the process has in hand, because LMDB ends the process over some damaged pages. The process
 * after it verifies those that may have ended this one, so that the damage of one actor does not end every start.
 *
 * The notes survive the end of the process and not a power cut: nothing is flushed. They are of use without being whole:
 * what cannot be read or written of them is left out, and never refuses anything. A note too many costs the reading of one
 * file.
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
  /** Shards that the process before this one had open when it ended. */
  #before: ReadonlySet<ActorId> = new Set();
  #descriptor: number | undefined;
  #lines = 0;
  #startMs = 0;
  #hasBegun = false;

  /** @param folder holds the folders of all actors */
  constructor(folder: string, clock: Clock) {
    this.#path = join(folder, FILE);
    this.#clock = clock;
  }

  /**
   * Verifies what an earlier process had in hand when it ended, and notes from now on what this one has. Once; a further
   * call does nothing. To be called before any of the shards is opened.
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
    // Those that are not verified yet stay noted: this process may be ended as well.
    for (const actor of suspects) this.#noted.set(actor, left.marks.get(actor) as Mark);
    this.#rewrite();
    for (const [index, actor] of suspects.entries()) {
      verifier.onVerifying?.(actor, index, suspects.length);
      const what = await this.#verified(verifier.verify(actor));
      if (what !== undefined) this.#damaged.set(actor, what);
      this.#update(actor);
    }
  }

  /** What is damaged of the shard of an actor, where that was found out. */
  damageOf(actor: ActorId): string | undefined {
    return this.#damaged.get(actor);
  }

  /**
   * Notes that something is done with a shard that has to read its pages.
   *
   * @returns to be called when it is done
   */
  take(actor: ActorId): () => void {
    return this.#count(this.#busy, actor);
  }

  /**
   * Notes that a shard is open.
   *
   * @returns to be called when it is closed
   */
  opened(actor: ActorId): () => void {
    return this.#count(this.#open, actor);
  }

  /** The files of these actors are others now, or gone. */
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
      // A full disk: a note is missing.
    }
  }

  /** What is noted now, in place of everything before. */
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
      // Somebody put a folder in its place.
    }
  }

  #close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** Empty where it cannot be read. */
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
