import { verifyBuiltInsRow } from '#actors/branch/schema/built-ins.ts';
import { jobsTableNames } from '#actors/jobs/jobs-tables.ts';
import { actorKindOf } from '#runtime/actor/actor-id.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { verifyBranchRow } from '#runtime/check/check-branch.ts';
import { damagedRow, verifyMetaRow } from '#runtime/check/check-rows.ts';
import { CommonTable, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Row } from '#runtime/shard/shard.ts';

/** Own tables of a jobs actor whose rows are JSON rows; the others are derived from those. */
const JOBS = FIRST_OWN_TABLE + jobsTableNames.indexOf('jobs');

/**
 * Verifies one row by itself: its checksum, and that its key matches its content.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`, and errors of reading the row
 */
export function verifyRow(actor: ActorId, table: number, row: Row): void {
  const kind = actorKindOf(actor);
  if (table === CommonTable.meta) {
    verifyMetaRow(row);
    if (kind === 'branch') verifyBuiltInsRow(row);
  } else if (table < FIRST_OWN_TABLE) return;
  else if (kind === 'branch') verifyBranchRow(table, row);
  else if (kind !== 'jobs') decodeJsonRow(row.value);
  else if (table === JOBS) {
    const { id } = decodeJsonRow(row.value) as { readonly id: string };
    if (id !== row.key) throw damagedRow(`it holds the job ${id}`);
  }
}
