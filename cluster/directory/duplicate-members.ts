import type { Clock } from '#runtime/base/time/clock.ts';
import type { Heartbeat } from './heartbeat.ts';

/** Number of heartbeats for which a process must be heard before it counts as running. */
export const RUNNING_BEATS = 1.5;

/** Time for which a duplicate name is reported after its last heartbeat, in milliseconds. */
const REPORTED_MS = 60_000;

/** Maximum number of tracked processes: the one that was heard first is dropped. */
const PROCESSES_MAX = 256;

/** A name that two processes use. */
export interface DuplicateMember {
  readonly member: string;
  /** Address of the process whose heartbeats are ignored. */
  readonly url: string;
}

/** A process whose heartbeats are ignored, and when they were received. */
interface Life extends DuplicateMember {
  readonly firstMs: number;
  readonly beat: number;
  readonly lastMs: number;
  readonly isRunning: boolean;
}

/**
 * Tracks processes of members that another process of the same name has replaced. Heartbeats of an ended process may
 * arrive late. When they still rise one and a half heartbeats later, the process is running, and two processes use its
 * name.
 */
export class DuplicateMembers {
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #lives = new Map<string, Life>();

  constructor(clock: Clock, heartbeatMs: number) {
    this.#clock = clock;
    this.#heartbeatMs = heartbeatMs;
  }

  /** Records a heartbeat of a process whose heartbeats are ignored. */
  hear({ beat, incarnation, isLeaving, member, url }: Heartbeat): void {
    if (isLeaving) {
      this.#lives.delete(incarnation);
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    const known = this.#lives.get(incarnation);
    if (known !== undefined && beat <= known.beat) return;
    const firstMs = known?.firstMs ?? nowMs;
    const isRunning = known?.isRunning === true || nowMs - firstMs >= RUNNING_BEATS * this.#heartbeatMs;
    this.#lives.set(incarnation, { member, url, firstMs, beat, lastMs: nowMs, isRunning });
    if (this.#lives.size <= PROCESSES_MAX) return;
    for (const oldest of this.#lives.keys()) {
      this.#lives.delete(oldest);
      break;
    }
  }

  /** Names that two processes use, each once. */
  get all(): readonly DuplicateMember[] {
    const nowMs = this.#clock.monotonicMs();
    const found = new Map<string, DuplicateMember>();
    for (const { isRunning, lastMs, member, url } of this.#lives.values())
      if (isRunning && nowMs - lastMs <= REPORTED_MS) found.set(member, { member, url });
    return [...found.values()];
  }
}
