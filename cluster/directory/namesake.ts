import { type Clock, sleep } from '#runtime/base/clock.ts';
import { GOES_ON_BEATS } from './lives-of-one-name.ts';
import type { HeartbeatChannel } from './member-registry.ts';

/** How well it is listened. */
export interface Hearing {
  /** Since when everything that is said arrives, on the monotonic clock, in milliseconds; undefined: it does not now. */
  readonly sinceMs: number | undefined;
  /** Ends it. */
  stop(): void;
}

/** Where the lives of a name are heard. */
export interface NamesakeChannel extends Pick<HeartbeatChannel, 'listen'> {
  /** Finds out how well it is listened by whoever listens already. */
  hearing(clock: Clock): Hearing;
}

/** Heartbeats without a sound of a life after which it has ended. */
const ENDED_BEATS = 2.5;

/** How often it is looked in the time of a heartbeat. */
const LOOKS = 10;

/** What a name is looked at with. */
export interface NamesakeLook {
  readonly channel: NamesakeChannel;
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
 * A process that has just ended may still be heard, so a life counts only when its heartbeats go on. Silence counts only
 * while everything that is said arrives: without a connection everybody is silent.
 *
 * @returns where it is; undefined: nobody has the name
 */
export async function liveNamesake(look: NamesakeLook): Promise<string | undefined> {
  const { channel, clock, heartbeatMs, member, onHeard } = look;
  const lives = new Map<string, Life>();
  let isTold = false;
  let found: string | undefined;
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
  const hearing = channel.hearing(clock);
  const isOpen = (): boolean => {
    const { sinceMs } = hearing;
    if (sinceMs === undefined) return true;
    const silentMs = (fromMs: number): number => clock.monotonicMs() - Math.max(fromMs, sinceMs);
    const isHeard = [...lives.values()].some(({ lastMs }) => silentMs(lastMs) < ENDED_BEATS * heartbeatMs);
    return isHeard || silentMs(sinceMs) < GOES_ON_BEATS * heartbeatMs;
  };
  try {
    while (found === undefined && isOpen()) await sleep(clock, heartbeatMs / LOOKS);
  } finally {
    hearing.stop();
    stop();
  }
  return found;
}
