import type { SqlChanged } from '../../sql-messages.ts';
import type { ReturnedNodes } from './change-context.ts';

/** The nodes that results have returned, which only a repetition needs: they are no part of the answer. */
const returnedBy = new WeakMap<SqlChanged, ReturnedNodes>();

/** Keeps which nodes a result has returned. */
export function noteReturned(changed: SqlChanged, returned: ReturnedNodes | undefined): void {
  if (returned !== undefined) returnedBy.set(changed, returned);
}

/** The nodes that a result has returned. */
export function returnedOf(changed: SqlChanged): ReturnedNodes | undefined {
  return returnedBy.get(changed);
}
