import type { Clock } from '#runtime/base/clock.ts';
import type { Heartbeat } from './heartbeat.ts';

/** Heartbeats that have to fit into the time a life is heard for before it is one that goes on. */
export const GOES_ON_BEATS = 1.5;

/** How long it is told that two processes have one name after that was heard last, in milliseconds. */
const TOLD_MS = 60_000;

/** Lives that are listened to at once: of more, the one that was heard of first is given up. */
const LIVES_MAX = 256;

/** A name that two processes have. */
export interface Namesake {
  readonly member: string;
  /** Where the one is that nobody listens to. */
  readonly url: string;
}

/** A life that is not listened to, as it is heard. */
interface Life extends Namesake {
  readonly firstMs: number;
  readonly beat: number;
  readonly lastMs: number;
  readonly goesOn: boolean;
}

/**
 * Lives of members that another life of the same name took the place of. What a process said before it ended may come
 * late; one whose heartbeats still rise a heartbeat and a half later goes on, and its name is that of two processes.
 */
export class LivesOfOneName {
  readonly #clock: Clock;
  readonly #heartbeatMs: number;
  readonly #lives = new Map<string, Life>();

  constructor(clock: Clock, heartbeatMs: number) {
    this.#clock = clock;
    this.#heartbeatMs = heartbeatMs;
  }

  /** Takes note of what a life says that is not listened to. */
  hear({ beat, incarnation, isLeaving, member, url }: Heartbeat): void {
    if (isLeaving) {
      this.#lives.delete(incarnation);
      return;
    }
    const nowMs = this.#clock.monotonicMs();
    const known = this.#lives.get(incarnation);
    if (known !== undefined && beat <= known.beat) return;
    const firstMs = known?.firstMs ?? nowMs;
    const goesOn = known?.goesOn === true || nowMs - firstMs >= GOES_ON_BEATS * this.#heartbeatMs;
    this.#lives.set(incarnation, { member, url, firstMs, beat, lastMs: nowMs, goesOn });
    if (this.#lives.size <= LIVES_MAX) return;
    for (const oldest of this.#lives.keys()) {
      this.#lives.delete(oldest);
      break;
    }
  }

  /** Names that two processes have, each once. */
  get all(): readonly Namesake[] {
    const nowMs = this.#clock.monotonicMs();
    const found = new Map<string, Namesake>();
    for (const { goesOn, lastMs, member, url } of this.#lives.values())
      if (goesOn && nowMs - lastMs <= TOLD_MS) found.set(member, { member, url });
    return [...found.values()];
  }
}
