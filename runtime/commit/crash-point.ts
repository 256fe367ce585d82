import { assert } from '#runtime/base/assert.ts';
import { OptionError } from '#runtime/config/option.ts';

/**
 * The places where a test may crash the process. Each is between two steps whose order matters for durability.
 */
export const crashPointNames = [
  /** A batch is complete, and none of it is in the log. */
  'before-append',
  /** The record was handed to the log and may or may not be durable. */
  'after-append-sent',
  /** The record is durable, and nobody was notified. */
  'after-durable',
  /** Durable changes are pending, and none of them is in the shard. */
  'before-apply',
  /** Part of the changes is in the shard; their log position may not be. */
  'mid-apply',
  /** The shard has the changes and their log position. */
  'after-apply',
  /** The reply is ready and was not sent. */
  'before-reply',
  /** The log is being replayed after a start. */
  'in-recovery',
  /** A shard is being opened. */
  'in-open',
  /** A new shard has a row in its parent and no folder. */
  'before-shard-create',
  /** A branch is being copied: the copy is complete and does not have its final folder. */
  'mid-fork',
  /** A fork is a copy that does not have its own identity yet. */
  'before-fork-rewind',
  /** A new branch is complete and not registered. */
  'before-branch-register',
  /** A branch is unregistered and its folder still exists. */
  'before-branch-removal',
  /** A merge has removed the changed entries and not added the new ones, or a fast-forward has copied one revision. */
  'mid-merge',
  /** A job is committed with the change that enqueued it, and not yet in the queue. */
  'before-job-relay',
  /** The queue has a job, and so does its outbox. */
  'after-job-relay',
  /** The cause of a job is committed and announced, and the job is not in the queue. */
  'before-job-announced',
  /** A job is in the queue, and the members that could run it are not notified. */
  'before-job-ticket',
  /** A job has done part of its work. */
  'mid-job',
  /** A job has done all of its work, and the queue is not notified. */
  'before-job-complete',
  /** A consumer of a feed has made the effects of a batch, and its position is not written. */
  'mid-consume',
  /** The effects of a batch are elsewhere, and the position of the consumer is the one before it. */
  'before-consumer-move',
  /** Some secrets are encrypted with the new master key, and others may still be with the previous one. */
  'mid-key-rotation',
  /** No secret needs the previous master key any more, and the data directory still asks for it. */
  'before-key-drop',
  /** A backup has copied some of the actors. */
  'mid-backup',
  /** A backup is complete and does not have its final name. */
  'before-backup-rename',
  /** A restore has written some rows of a repository that is not registered yet. */
  'mid-restore',
  /** A snapshot of a partition has copied some of the actors. */
  'mid-snapshot-copy',
  /** A snapshot is partly stored. */
  'mid-snapshot-upload',
  /** A snapshot is stored and verified, and not published. */
  'before-snapshot-publish',
  /** A snapshot is published, and unreferenced files are still stored. */
  'after-snapshot-publish',
  /** A log is about to be truncated up to a snapshot. */
  'before-log-cut',
  /** A log was truncated. */
  'after-log-cut',
  /** Some files of a snapshot were received. */
  'mid-snapshot-restore',
  /** The actors that a snapshot replaces were moved away, and those of the snapshot are not in place. */
  'mid-snapshot-adopt',
  /** The actors of a snapshot are in place, and the position is still the old one. */
  'after-snapshot-adopt',
  /** Every shard has applied a journal segment that still exists. */
  'before-segment-removal',
  /** A journal segment was removed, and the next one is the first. */
  'after-segment-removal',
] as const;

/** One of {@link crashPointNames}. */
export type CrashPointName = (typeof crashPointNames)[number];

interface ArmedPoint {
  /** Passes left until the action runs, including the one that runs it. */
  passesLeft: number;
  readonly action: () => void;
}

/** `undefined` unless a test armed a point: the only check that a production process ever makes. */
let armed: Map<CrashPointName, ArmedPoint> | undefined;

/**
 * Marks a place where a test may crash the process. Unarmed, which is always the case outside tests, it is one
 * comparison that the compiler inlines.
 */
export function crashPoint(name: CrashPointName): void {
  if (armed !== undefined) pass(name);
}

/**
 * Arms a crash point: its `hit`-th pass from now runs `action`, once.
 *
 * @param hit 1 for the next pass
 * @param action default: this process kills itself with SIGKILL, which simulates a power failure
 * @returns disarms it; further calls do nothing
 */
export function armCrashPoint(name: CrashPointName, hit: number, action: () => void = killSelf): () => void {
  assert(Number.isSafeInteger(hit) && hit >= 1, 'a crash point acts at its first pass or later');
  armed ??= new Map();
  assert(!armed.has(name), `crash point ${name} is armed already`);
  const point: ArmedPoint = { passesLeft: hit, action };
  armed.set(name, point);
  return () => disarm(name, point);
}

/**
 * Arms the crash point in `SVC_CRASH_POINT` of a child process: `name:hit`, as in `after-durable:3`. Called only by
 * the main file of a member, before it opens anything.
 *
 * @param text `undefined` or empty arms nothing
 * @throws {OptionError} when the text names no crash point, because a test without a crash must not pass
 */
export function armCrashPointFromText(text: string | undefined): void {
  if (text === undefined || text === '') return;
  const match = /^([a-z-]+):(\d{1,9})$/.exec(text);
  const name = crashPointNames.find((known) => known === match?.[1]);
  const hit = Number(match?.[2]);
  if (name === undefined || hit < 1) {
    const names = crashPointNames.join(', ');
    throw new OptionError([
      `SVC_CRASH_POINT '${text}' is not <name>:<hit>, such as after-durable:3, with one of ${names}; unset it`,
    ]);
  }
  armCrashPoint(name, hit);
}

function pass(name: CrashPointName): void {
  const point = armed?.get(name);
  if (point === undefined) return;
  point.passesLeft -= 1;
  if (point.passesLeft > 0) return;
  disarm(name, point);
  point.action();
}

function disarm(name: CrashPointName, point: ArmedPoint): void {
  if (armed?.get(name) !== point) return;
  armed.delete(name);
  if (armed.size === 0) armed = undefined;
}

function killSelf(): void {
  // The signal is delivered before kill returns to this thread, so nothing after the crash point runs.
  process.kill(process.pid, 'SIGKILL');
}
