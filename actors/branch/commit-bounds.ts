import { invalid } from '#runtime/errors/service-error.ts';
import type { CommitInfo } from './commit-messages.ts';

/** Longest message of a revision, in bytes of UTF-8: a page of the history has many of them. */
export const COMMIT_MESSAGE_BYTES_MAX = 65_536;

/** Longest name of the author of a revision, in bytes of UTF-8: every node that the revision changes may store it. */
export const COMMIT_ACTOR_BYTES_MAX = 1024;

/**
 * Refuses a commit whose texts are too long. Revisions from before this bound keep their texts.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireCommitBounds({ actor, message }: CommitInfo): void {
  requireShort(message, 'message', COMMIT_MESSAGE_BYTES_MAX);
  requireShort(actor, 'actor', COMMIT_ACTOR_BYTES_MAX);
}

function requireShort(text: string | undefined, field: string, most: number): void {
  // A character takes at least one byte, so most texts that are too long need no byte count.
  if (text === undefined || (text.length <= most && Buffer.byteLength(text) <= most)) return;
  throw invalid(`The ${field} of a commit has at most ${most} bytes`, { field: `commit.${field}` });
}
