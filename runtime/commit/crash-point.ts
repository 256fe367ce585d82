import { assert } from '#runtime/base/assert.ts';

/**
 * The places where a process may die in a test. Each stands between two steps whose order matters: between
 * what is promised and what is on disk.
 */
export const crashPointNames = [
  /** A batch is closed, nothing of it is in the log. */
  'before-append',
  /** The record was handed to the log and may or may not be durable. */
  'after-append-sent',
  /** The record is durable, nobody has been told. */
  'after-durable',
  /** Durable write-sets wait, the shard has none of them. */
  'before-apply',
  /** A part of the write-sets is in the shard; the log position of it all may not be. */
  'mid-apply',
  /** The shard has the write-sets and their log position. */
  'after-apply',
  /** The reply is made and has not left. */
  'before-reply',
  /** The log is being replayed after a start. */
  'in-recovery',
  /** A shard is being opened. */
  'in-open',
  /** A new shard has a row in its parent and no folder yet. */
  'before-shard-create',
  /** A branch is being copied: the copy is whole and has no folder of its own yet. */
  'mid-fork',
  /** A fork is a copy that does not know yet what it is. */
  'before-fork-rewind',
  /** A new branch is whole and nobody can find it yet. */
  'before-branch-register',
  /** A branch is unregistered and its folder still stands. */
  'before-branch-removal',
  /** A merge has taken out what changes and put nothing in, or a fast-forward has taken over one of its revisions. */
  'mid-merge',
  /** A job is committed with what enqueued it, the queue does not have it yet. */
  'before-job-relay',
  /** The queue has a job, and the outbox it came from still has it too. */
  'after-job-relay',
  /** A job is in the queue, the members that could do it have not been told. */
  'before-job-ticket',
  /** A job has done a part of its work. */
  'mid-job',
  /** A job has done all of its work, the queue does not know. */
  'before-job-complete',
  /** A backup has copied some actors and not all. */
  'mid-backup',
  /** A backup is whole and does not have its name yet. */
  'before-backup-rename',
  /** A restore has written some rows of a repository nobody knows of yet. */
  'mid-restore',
  /** A snapshot of a partition has copies of some actors and not of all. */
  'mid-snapshot-copy',
  /** A snapshot is stored in part. */
  'mid-snapshot-upload',
  /** A snapshot is stored and verified, and nobody knows of it. */
  'before-snapshot-publish',
  /** A snapshot is published, and what nobody names any more is still stored. */
  'after-snapshot-publish',
  /** A log is about to be cut behind a snapshot. */
  'before-log-cut',
  /** A log was cut. */
  'after-log-cut',
  /** Some files of a snapshot have arrived and not all. */
  'mid-snapshot-restore',
  /** The actors a snapshot replaces are out of the way, and those of the snapshot not in their place. */
  'mid-snapshot-adopt',
  /** The actors of a snapshot are in their place, and the position is still the old one. */
  'after-snapshot-adopt',
  /** Every shard is past a journal segment that still exists. */
  'before-segment-removal',
  /** A journal segment is gone, the next one is the first. */
  'after-segment-removal',
] as const;

/** One of {@link crashPointNames}. */
export type CrashPointName = (typeof crashPointNames)[number];

interface ArmedPoint {
  /** Passes left until the action, the one that acts included. */
  passesLeft: number;
  readonly action: () => void;
}

/** `undefined` unless a test armed something: the only thing a product process ever looks at. */
let armed: Map<CrashPointName, ArmedPoint> | undefined;

/**
 * Marks a place where a process may die. Unarmed, which is always outside of tests, it is one comparison that
 * the compiler inlines.
 */
export function crashPoint(name: CrashPointName): void {
  if (armed !== undefined) pass(name);
}

/**
 * Arms a place: its `hit`-th pass from now runs `action`, once.
 *
 * @param hit 1 for the next pass
 * @param action unset: this process kills itself with SIGKILL, as a power cut would
 * @returns disarms it; calling it again does nothing
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
 * Arms what `SVC_CRASH_POINT` of a child process says: `name:hit`, as in `after-durable:3`. Only the main file
 * of a member calls this, before it opens anything.
 *
 * @param text `undefined` or empty arms nothing
 * @throws {InvariantError} when the text names no crash point: a test that kills nothing must not pass
 */
export function armCrashPointFromText(text: string | undefined): void {
  if (text === undefined || text === '') return;
  const match = /^([a-z-]+):(\d{1,9})$/.exec(text);
  const name = crashPointNames.find((known) => known === match?.[1]);
  assert(
    name !== undefined,
    `crash point '${text}' is not <name>:<hit> with one of ${crashPointNames.join(', ')}`,
  );
  armCrashPoint(name, Number(match?.[2]));
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
