import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { revisionZero } from '#runtime/content/revision.ts';
import type { RecordMark } from '#runtime/log/log-entry.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { encodeMark, MARK_KEY } from '#runtime/shard/lmdb-tables.ts';
import { storedHead } from '#runtime/shard/stored-head.ts';
import { shardBeforeMarks } from '#test/support/shard-before-marks.ts';

const tables = ['', 'one'];
const identity = { directory: '*', actor: 'acme/site~1/a/notes', created: 0 };
const mark: RecordMark = { epoch: 3, chain: Buffer.alloc(16, 7) };

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'marked-position-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function open(): LmdbShard {
  return new LmdbShard(folder, tables, identity);
}

/** Writes a row in the transaction that leads to a position, and closes the shard. */
async function write(shard: LmdbShard, sequence: number, marked: RecordMark | undefined): Promise<void> {
  const row = { table: 1, key: `k${sequence}`, value: Buffer.from('value') };
  await shard.apply([row], { sequence, clock: revisionZero, mark: marked }).flushed;
  await shard.close();
}

it('is stored with the content of its record, for an opened shard and for a read of the file header', async () => {
  await write(open(), 4, mark);
  const shard = open();
  expect(shard.position).toEqual({ sequence: 4, clock: revisionZero, mark });
  expect(storedHead(join(folder, 'data.mdb'))).toMatchObject({ sequence: 4, mark });
  await write(shard, 5, { ...mark, epoch: 4 });
  expect(storedHead(join(folder, 'data.mdb'))).toMatchObject({ sequence: 5, mark: { ...mark, epoch: 4 } });
});

it('is absent in a shard of the version before, which is read and written on', async () => {
  writeFileSync(join(folder, 'data.mdb'), shardBeforeMarks());
  expect(storedHead(join(folder, 'data.mdb'))).toMatchObject({ sequence: 7, mark: undefined });
  const shard = open();
  expect(shard.position).toEqual({ sequence: 7, clock: { ms: 12, counter: 0 } });
  expect(Buffer.from(shard.get(1, 'k') ?? []).toString()).toBe('before');
  await write(shard, 8, mark);
  const again = open();
  expect(again.position).toMatchObject({ sequence: 8, mark });
  expect(again.get(1, 'k')).toBeDefined();
  await again.close();
});

it('counts for its own record alone: a version without marks leaves it behind', async () => {
  const shard = open();
  await write(shard, 4, mark);
  await write(open(), 9, undefined);
  const again = open();
  expect(again.position).toEqual({ sequence: 9, clock: revisionZero });
  await again.close();
});

it('takes no part in the format of the position, so that the version before reads the file', async () => {
  await write(open(), 4, mark);
  const bytes = readFileSync(join(folder, 'data.mdb')).toString('latin1');
  expect(bytes).toContain(MARK_KEY);
  expect(bytes).toContain(Buffer.from(encodeMark(4, mark)).toString('latin1'));
});
