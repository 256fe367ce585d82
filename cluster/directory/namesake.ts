import { type Clock, sleep } from '#runtime/base/clock.ts';
import { GOES_ON_BEATS } from './lives-of-one-name.ts';
import type { HeartbeatChannel } from './member-registry.ts';

/** Heartbeats without a sound of a life after which it has ended. */
const ENDED_BEATS = 2.5;

/** How often it is looked in the time of a heartbeat. */
const LOOKS = 10;

/** What a name is looked at with. */
export interface NamesakeLook {
  readonly channel: HeartbeatChannel;
  /** The name this member is to have. */
  readonly member: string;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  /** Told once that somebody of that name was heard, and where: it takes a moment to tell whether it goes on. */
  readonly onHeard: (url: string) => void;
}

/** A life of the name as it is heard. */
interface Life {
  readonly firstMs: number;
  beat: number;
  lastMs: number;
}

/**
 * Whether another process lives under the name this member is to have. Nothing is said meanwhile: the others would take
 * this one for a new life of that member, and forget the other one.
 *
 * A process that has just ended may still be heard, so a life counts only when its heartbeats go on.
 *
 * @returns where it is; undefined: nobody has the name
 */
export async function liveNamesake(look: NamesakeLook): Promise<string | undefined> {
  const { channel, clock, heartbeatMs, member, onHeard } = look;
  const lives = new Map<string, Life>();
  let isTold = false;
  let found: string | undefined;
  const startedMs = clock.monotonicMs();
  const stop = channel.listen(({ beat, incarnation, isLeaving, member: name, url }) => {
    if (name !== member) return;
    if (isLeaving) {
      lives.delete(incarnation);
      return;
    }
    const nowMs = clock.monotonicMs();
    const life = lives.get(incarnation);
    if (life === undefined) lives.set(incarnation, { firstMs: nowMs, beat, lastMs: nowMs });
    else if (beat > life.beat) {
      life.beat = beat;
      life.lastMs = nowMs;
      if (nowMs - life.firstMs >= GOES_ON_BEATS * heartbeatMs) found = url;
    }
    if (!isTold) onHeard(url);
    isTold = true;
  });
  const isOpen = (): boolean => {
    const nowMs = clock.monotonicMs();
    const isHeard = [...lives.values()].some(({ lastMs }) => nowMs - lastMs < ENDED_BEATS * heartbeatMs);
    return isHeard || nowMs - startedMs < GOES_ON_BEATS * heartbeatMs;
  };
  try {
    while (found === undefined && isOpen()) await sleep(clock, heartbeatMs / LOOKS);
  } finally {
    stop();
  }
  return found;
}
