import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grove-claimed-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const tables = ['notes'];
const source = { directory: 'd', actor: 'acme/site~1/a/notes', created: 3 };
const fork = { directory: 'd', actor: 'acme/site~1/b/notes', created: 7 };

async function copied(): Promise<string> {
  const shard = new LmdbShard(join(folder, 'source'), tables, source);
  const position = { sequence: 5, clock: { ms: 5, counter: 0 } };
  await shard.apply([{ table: 0, key: 'k', value: Buffer.from('v') }], position).flushed;
  const copy = join(folder, 'copy');
  mkdirSync(copy);
  await shard.copyTo(copy);
  await shard.close();
  return copy;
}

test('a copy that is claimed is the shard of another actor, with everything in it', async () => {
  const copy = await copied();
  expect(() => new LmdbShard(copy, tables, fork)).toThrow(/is the file of acme\/site~1\/a\/notes/);
  const claimed = new LmdbShard(copy, tables);
  await claimed.claim(fork);
  claimed.requireUntouched();
  await claimed.close();
  expect(() => new LmdbShard(copy, tables, source)).toThrow(/is the file of acme\/site~1\/b\/notes/);
  const opened = new LmdbShard(copy, tables, fork);
  expect(Buffer.from(opened.get(0, 'k') ?? []).toString()).toBe('v');
  expect(opened.position.sequence).toBe(5);
  await opened.close();
});

test('opening a copy writes nothing, which would be flushed on the event loop', async () => {
  const copy = await copied();
  const file = join(copy, 'data.mdb');
  const before = readFileSync(file);
  const opened = new LmdbShard(copy, tables);
  expect(readFileSync(file).equals(before)).toBe(true);
  await opened.close();
});
