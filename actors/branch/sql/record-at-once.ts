import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { Moment } from '#runtime/scan/moment.ts';
import { LargeValue } from '#runtime/shard/large-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { BranchTables } from './branch-tables.ts';

/** Estimated nanoseconds to read a byte of a large node. */
const LARGE_BYTE_WORK = 2;

/**
 * A node by its id, for a function: it does not pause, so the bytes of a large node count as the work of its row.
 *
 * @returns undefined for a node that is not there
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 */
export function recordAtOnce(
  { context }: BranchTables,
  { tree }: Moment,
  workspace: string,
  id: string,
): NodeRecord | undefined {
  const found = tree.quickById(workspace, id);
  if (!(found instanceof LargeValue)) return found;
  context.budget.spend(found.length * LARGE_BYTE_WORK);
  return atOnce(tree.byIdInSteps(workspace, id));
}
