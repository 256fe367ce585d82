import type { Clock } from '#runtime/base/clock.ts';
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

/** What is known of the log of a partition when it may be cut. */
export interface CutFacts {
  readonly partition: number;
  readonly stream: LogStream;
  readonly state: StreamState;
  readonly records: readonly SnapshotRecord[];
  readonly ownerStored: number;
  readonly followers: TruncationFacts['followers'];
}

/** How logs are cut. */
export interface CutRules {
  /** `[cluster] log_bytes_max`. */
  readonly bytesMax: number;
  /** `[cluster] log_keep_ms`. */
  readonly keepMs: number;
  /** Less than this is left until there is more, in bytes. */
  readonly gainBytes: number;
}

/** Whether a log comes near its limit. */
export function isPressed({ bytes }: StreamState, bytesMax: number): boolean {
  return bytes >= bytesMax * PRESSED_SHARE;
}

/** Bytes of the messages from one sequence to another, as many as the others have on the average. */
export function bytesBetween(
  { bytes, firstSequence, lastSequence }: StreamState,
  from: number,
  to: number,
): number {
  const messages = lastSequence - firstSequence + 1;
  const some = Math.min(to, lastSequence) - Math.max(from, firstSequence) + 1;
  return messages <= 0 || some <= 0 ? 0 : (bytes * some) / messages;
}

/** What the rule says, leaving age aside: how much could go at best, and what keeps the rest. */
export function cutAtBest({
  followers,
  ownerStored,
  records,
  state,
}: Omit<CutFacts, 'stream' | 'partition'>): TruncationVerdict {
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
 * Cuts a log as far as it may be.
 *
 * @returns where it begins now; undefined when nothing was done
 * @throws {ServiceError} `LOG_UNAVAILABLE`
 */
export async function cutLog(facts: CutFacts, rules: CutRules, clock: Clock): Promise<number | undefined> {
  const { state, stream } = facts;
  const best = cutAtBest(facts).before;
  if (best === undefined) return undefined;
  let before = best;
  if (!isPressed(state, rules.bytesMax)) {
    if (bytesBetween(state, state.firstSequence, best - 1) < rules.gainBytes) return undefined;
    before = await agedSequence(stream, state.firstSequence, best, clock.wallMs() - rules.keepMs);
    if (before <= state.firstSequence) return undefined;
    if (bytesBetween(state, state.firstSequence, before - 1) < rules.gainBytes) return undefined;
  }
  // A stream that was made anew has other records at these places.
  if ((await stream.state()).identity !== state.identity) return undefined;
  crashPoint('before-log-cut');
  await stream.truncate(before);
  crashPoint('after-log-cut');
  return before;
}
