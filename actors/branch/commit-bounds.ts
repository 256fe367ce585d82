import { invalid } from '#runtime/errors/service-error.ts';
import type { CommitInfo } from './commit-messages.ts';

/** Longest message of a revision, in bytes of UTF-8: histories show many of them on a page. */
export const COMMIT_MESSAGE_BYTES_MAX = 65_536;

/** Longest name of who made a revision, in bytes of UTF-8: every node that it changes may hold it. */
export const COMMIT_ACTOR_BYTES_MAX = 1024;

/**
 * Refuses a commit whose texts are too long. Revisions from before there was a bound keep theirs.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireCommitBounds({ actor, message }: CommitInfo): void {
  requireShort(message, 'message', COMMIT_MESSAGE_BYTES_MAX);
  requireShort(actor, 'actor', COMMIT_ACTOR_BYTES_MAX);
}

function requireShort(text: string | undefined, field: string, most: number): void {
  // A character takes at least a byte, so most that are too long need no counting.
  if (text === undefined || (text.length <= most && Buffer.byteLength(text) <= most)) return;
  throw invalid(`The ${field} of a commit has at most ${most} bytes`, { field: `commit.${field}` });
}
