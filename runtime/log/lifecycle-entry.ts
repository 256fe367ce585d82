import { assert } from '#runtime/base/assert.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type LogEntry, TABLE_MAX } from './log-entry.ts';

/**
 * What became of an actor, or of every actor under an owner. These stand in the log between the effects, because
 * who follows the log has to know of an actor before its first effect, and makes a fork of the very state the
 * source has at this place.
 */
export type Lifecycle =
  | { readonly kind: 'create' }
  | { readonly kind: 'fork'; readonly source: string }
  | { readonly kind: 'destroy' };

/** The table no actor has, whose writes say what became of an actor. */
const LIFECYCLE_TABLE = TABLE_MAX;

/** Whether an actor goes when its owner is destroyed: it is the owner, or its id begins with it. */
export function isUnder(actor: string, owner: string): boolean {
  return actor === owner || actor.startsWith(`${owner}/`);
}

const nothing = new Uint8Array(0);

/**
 * An entry that says what became of an actor.
 *
 * @param actor the actor that is made; for `destroy` the owner of those that are removed
 * @param clock the highest clock so far
 */
export function lifecycleEntry(actor: string, lifecycle: Lifecycle, clock: Revision): LogEntry {
  const value = lifecycle.kind === 'fork' ? Buffer.from(lifecycle.source, 'utf8') : nothing;
  return { actor, writes: [{ table: LIFECYCLE_TABLE, key: lifecycle.kind, value }], clock };
}

/**
 * What an entry says became of its actor; undefined for one of effects.
 *
 * @throws {ServiceError} `DATA_CORRUPTED` for something only a newer build knows
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
