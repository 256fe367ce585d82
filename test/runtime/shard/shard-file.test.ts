import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { KEY_BYTES_MAX } from '#runtime/shard/binary-key.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';

const position = { sequence: 7, clock: { ms: 1_700_000_000_000, counter: 3 } };
const tables = ['first', 'second'];

let folder: string;
let path: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'shard-file-'));
  const shard = new LmdbShard(join(folder, 'shard'), tables);
  const writes = ['a', 'b', '\u00ff'.repeat(KEY_BYTES_MAX), '\u0000'].map((key) => ({
    table: 0,
    key,
    value: Buffer.from(`value of ${key.length}`),
  }));
  await shard.apply(writes, position).flushed;
  await shard.copyTo(join(folder, 'copy'));
  await shard.close();
  path = join(folder, 'copy/data.mdb');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const hash = (): string => createHash('sha256').update(readFileSync(path)).digest('hex');

it('shows every row of a copy and what it reaches, over several turns, and changes nothing of it', async () => {
  const before = hash();
  const file = new ShardFile(path, [...tables, 'of a newer build']);
  expect(file.position).toEqual(position);
  const keys: string[] = [];
  for (const { key } of file.rows(0)) {
    keys.push(key);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(keys).toEqual(['\u0000', 'a', 'b', '\u00ff'.repeat(KEY_BYTES_MAX)]);
  expect(Buffer.from(file.get(0, 'a') as Uint8Array).toString()).toBe('value of 1');
  expect(file.get(0, '')).toBeUndefined();
  expect([...file.range(0, { start: 'a', end: 'b' })].map(({ key }) => key)).toEqual(['a']);
  expect([...file.rows(1), ...file.rows(2)]).toEqual([]);
  expect(file.get(2, 'a')).toBeUndefined();
  file.close();
  file.close();
  expect(hash()).toBe(before);
  expect(readdirSync(join(folder, 'copy'))).toEqual(['data.mdb']);
});

it('refuses what is missing, is no shard, or has a table this build does not know, and leaves nothing beside it', () => {
  const open = (): ShardFile => new ShardFile(path, tables);
  expect(() => new ShardFile(path, ['first'])).toThrow(
    /has a table 'second', which this build does not know/,
  );
  truncateSync(path, 100);
  expect(open).toThrow(/is missing or is not the file of a shard/);
  writeFileSync(path, 'text '.repeat(10_000));
  expect(open).toThrow(/is missing or is not the file of a shard/);
  rmSync(path);
  expect(open).toThrow(/is missing or is not the file of a shard/);
  expect(existsSync(path)).toBe(false);
});
