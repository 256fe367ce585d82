import { assert } from '#runtime/base/assert.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type LogEntry, TABLE_MAX } from './log-entry.ts';

/**
 * Creation, fork or removal of an actor, or removal of every actor under an owner. These entries are ordered with the
 * effects in the log, because a follower has to create an actor before its first effect, and has to fork the source
 * in exactly the state it has at this position.
 */
export type Lifecycle =
  | { readonly kind: 'create' }
  | { readonly kind: 'fork'; readonly source: string }
  | { readonly kind: 'destroy' };

/** Reserved table number, used by no actor, that marks the writes of lifecycle entries. */
const LIFECYCLE_TABLE = TABLE_MAX;

/** Whether an actor is removed with an owner: it is the owner, or its id begins with the owner. */
export function isUnder(actor: string, owner: string): boolean {
  return actor === owner || actor.startsWith(`${owner}/`);
}

const nothing = new Uint8Array(0);

/**
 * Builds a lifecycle entry.
 *
 * @param actor the actor that is created; for `destroy` the owner of the actors that are removed
 * @param clock the highest clock so far
 */
export function lifecycleEntry(actor: string, lifecycle: Lifecycle, clock: Revision): LogEntry {
  const value = lifecycle.kind === 'fork' ? Buffer.from(lifecycle.source, 'utf8') : nothing;
  return { actor, writes: [{ table: LIFECYCLE_TABLE, key: lifecycle.kind, value }], clock };
}

/**
 * Decodes a lifecycle entry; undefined for an entry of effects.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` for a lifecycle that only a newer build knows
 */
export function lifecycleOf({ writes }: LogEntry): Lifecycle | undefined {
  const write = writes[0];
  if (write === undefined || write.table !== LIFECYCLE_TABLE) return undefined;
  assert(writes.length === 1 && write.value !== null, 'what became of an actor is an entry of its own');
  switch (write.key) {
    case 'create':
    case 'destroy':
      return { kind: write.key };
    case 'fork':
      return { kind: 'fork', source: Buffer.from(write.value).toString('utf8') };
    default:
      throw new ServiceError(
        'DATA_CORRUPTED',
        `the log says '${write.key}' of an actor, which this build does not know; start a newer one`,
      );
  }
}
