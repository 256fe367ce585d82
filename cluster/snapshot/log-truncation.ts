import type { Clock } from '#runtime/base/time/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { LogStream, StreamState } from '#cluster/replication/log-stream.ts';
import { agedSequence } from './aged-sequence.ts';
import type { SnapshotRecord } from './snapshot-manifest.ts';
import {
  PRESSED_SHARE,
  truncation,
  type TruncationFacts,
  type TruncationVerdict,
} from './truncation-rule.ts';

/** State of a partition's log that may be truncated. */
export interface TruncationState {
  readonly partition: number;
  readonly stream: LogStream;
  readonly state: StreamState;
  readonly records: readonly SnapshotRecord[];
  readonly ownerStored: number;
  readonly followers: TruncationFacts['followers'];
}

/** Settings for truncating logs. */
export interface TruncationSettings {
  /** `[cluster] log_bytes_max`. */
  readonly bytesMax: number;
  /** `[cluster] log_keep_ms`. */
  readonly keepMs: number;
  /** A smaller gain is not worth a truncation, in bytes. */
  readonly gainBytes: number;
  /** Records up to this one have to go, whatever their age and size; undefined when none has. */
  readonly lastOld?: number | undefined;
}

/** Returns whether a log is near its limit. */
export function isPressed({ bytes }: StreamState, bytesMax: number): boolean {
  return bytes >= bytesMax * PRESSED_SHARE;
}

/** Estimates the bytes of the messages from one sequence to another, by the average size. */
export function bytesBetween(
  { bytes, firstSequence, lastSequence }: StreamState,
  from: number,
  to: number,
): number {
  const messages = lastSequence - firstSequence + 1;
  const some = Math.min(to, lastSequence) - Math.max(from, firstSequence) + 1;
  return messages <= 0 || some <= 0 ? 0 : (bytes * some) / messages;
}

/** Applies the rule without the age: how much could be removed at best, and what keeps the rest. */
export function bestTruncation({
  followers,
  ownerStored,
  records,
  state,
}: Omit<TruncationState, 'stream' | 'partition'>): TruncationVerdict {
  return truncation({
    firstSequence: state.firstSequence,
    snapshots: records
      .filter(({ position }) => position.identity === state.identity)
      .map(({ member, position }) => ({ member, sequence: position.sequence })),
    ownerStored,
    followers,
    agedSequence: 0,
    isPressed: true,
  });
}

/**
 * Truncates a log as far as permitted.
 *
 * @returns its new first record; undefined when nothing was done
 * @throws {ServiceError} `LOG_UNAVAILABLE`
 */
export async function truncateLog(
  facts: TruncationState,
  rules: TruncationSettings,
  clock: Clock,
): Promise<number | undefined> {
  const { state, stream } = facts;
  const best = bestTruncation(facts).before;
  if (best === undefined) return undefined;
  let before = best;
  const isOver = rules.lastOld !== undefined && best > rules.lastOld;
  if (!isOver && !isPressed(state, rules.bytesMax)) {
    if (bytesBetween(state, state.firstSequence, best - 1) < rules.gainBytes) return undefined;
    before = await agedSequence(stream, state.firstSequence, best, clock.wallMs() - rules.keepMs);
    if (before <= state.firstSequence) return undefined;
    if (bytesBetween(state, state.firstSequence, before - 1) < rules.gainBytes) return undefined;
  }
  // A recreated stream has other records at these places.
  if ((await stream.state()).identity !== state.identity) return undefined;
  crashPoint('before-log-cut');
  await stream.truncate(before);
  crashPoint('after-log-cut');
  return before;
}
