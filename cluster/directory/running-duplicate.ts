import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import { RUNNING_BEATS } from './duplicate-members.ts';
import type { HeartbeatChannel } from './member-registry.ts';

/** State of a subscription to heartbeats. */
export interface Reception {
  /** Monotonic time since which all messages arrive, in milliseconds; undefined while they do not. */
  readonly sinceMs: number | undefined;
  /** Ends it. */
  stop(): void;
}

/** Channel on which the heartbeats of a name are received. */
export interface NameChannel extends Pick<HeartbeatChannel, 'listen'> {
  /** Observes the state of the existing subscription. */
  reception(clock: Clock): Reception;
}

/** Silence, in heartbeats, after which a process has ended. */
const ENDED_BEATS = 2.5;

/** Number of checks within the time of a heartbeat. */
const CHECKS = 10;

/** Inputs of {@link runningDuplicate}. */
export interface NameCheck {
  readonly channel: NameChannel;
  /** The intended name of this member. */
  readonly member: string;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  /** Called once when a process of that name is heard, with its address; whether it still runs is not known yet. */
  readonly onAlive: (url: string) => void;
}

/** A process of the name and its heartbeats. */
interface Life {
  readonly firstMs: number;
  beat: number;
  lastMs: number;
}

/**
 * Finds a running process with the intended name of this member. This member sends nothing meanwhile, because the
 * others would take it for a new process of that member, and forget the running one.
 *
 * Heartbeats of a process that has just ended may still arrive, so a process counts only when its heartbeats continue.
 * Silence counts only while all messages arrive: without a connection every member is silent.
 *
 * @returns its address; undefined when no process uses the name
 */
export async function runningDuplicate(check: NameCheck): Promise<string | undefined> {
  const { channel, clock, heartbeatMs, member, onAlive } = check;
  const lives = new Map<string, Life>();
  let isReported = false;
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
      if (nowMs - life.firstMs >= RUNNING_BEATS * heartbeatMs) found = url;
    }
    if (!isReported) onAlive(url);
    isReported = true;
  });
  const reception = channel.reception(clock);
  const isOpen = (): boolean => {
    const { sinceMs } = reception;
    if (sinceMs === undefined) return true;
    const silentMs = (fromMs: number): number => clock.monotonicMs() - Math.max(fromMs, sinceMs);
    const isAlive = [...lives.values()].some(({ lastMs }) => silentMs(lastMs) < ENDED_BEATS * heartbeatMs);
    return isAlive || silentMs(sinceMs) < RUNNING_BEATS * heartbeatMs;
  };
  try {
    while (found === undefined && isOpen()) await sleep(clock, heartbeatMs / CHECKS);
  } finally {
    reception.stop();
    stop();
  }
  return found;
}
