import { createHash } from 'node:crypto';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

/** How a process that reads damaged shards tells of one of them: a line of JSON. */
export interface DamagedShardReport {
  readonly folder: string;
  /** Code it was refused to be opened with; null when it was opened. */
  readonly refused: string | null;
  /** Rows that are as they were written, that are others, and that could not be read or are missing. */
  readonly right: number;
  readonly wrong: number;
  readonly missing: number;
}

/** Tables of the shards. */
export const damagedTables = ['first', 'second'];

/** Rows of each. */
export const DAMAGED_ROWS = 2000;

/** Key and table of a row. */
export function damagedRow(row: number): { readonly table: number; readonly key: string } {
  return { table: row % 2, key: `row ${row}` };
}

/** What a row holds, a few of them more than a page does. Its first bytes are a checksum of the rest. */
export function damagedValue(row: number): Buffer {
  const rest = Buffer.alloc(row % 97 === 0 ? 9000 : 200, row % 251);
  return Buffer.concat([checksum(rest), rest]);
}

function checksum(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest().subarray(0, 8);
}

function read(folder: string): DamagedShardReport {
  let shard: LmdbShard;
  try {
    shard = new LmdbShard(folder, damagedTables);
  } catch (error) {
    const refused = error instanceof ServiceError ? error.code : String(error);
    return { folder, refused, right: 0, wrong: 0, missing: 0 };
  }
  const counts = { right: 0, wrong: 0, missing: 0 };
  for (let row = 0; row < DAMAGED_ROWS; row += 1) {
    const { key, table } = damagedRow(row);
    try {
      const value = shard.get(table, key);
      const isVerified = value !== undefined && checksum(value.subarray(8)).equals(value.subarray(0, 8));
      if (!isVerified) counts.missing += 1;
      else if (damagedValue(row).equals(value)) counts.right += 1;
      else counts.wrong += 1;
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'DATA_CORRUPTED')) throw error;
      counts.missing += 1;
    }
  }
  void shard.close();
  return { folder, refused: null, ...counts };
}

// Run with the folders of shards: reads each.
if (process.argv[1] === import.meta.filename)
  for (const folder of process.argv.slice(2)) process.stdout.write(`${JSON.stringify(read(folder))}\n`);
