import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { receiveShard, type ShardCopy } from '#runtime/actor/copies/copy-shard.ts';
import { RoutedCopies } from '#runtime/actor/copies/routed-copies.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { BackupFixture, rowsOfFile } from '#test/support/backup-fixture.ts';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { tableNamesOf } from '#server/backup/take-backup.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { callers } from '#test/support/host-fixture.ts';

let member: BackupFixture;
let actor: string;
let folder: string;

beforeEach(async () => {
  member = await BackupFixture.open();
  const blog = await member.repository('blog');
  await member.create(blog, '/a', 'x'.repeat(300_000));
  actor = `${member.branch(blog)}/branch`;
  folder = mkdtempSync(join(tmpdir(), 'copy-shard-'));
});

afterEach(async () => {
  await member.close();
  rmSync(folder, { recursive: true, force: true });
});

const leftFiles = (): string[] => {
  try {
    return readdirSync(join(member.fixture.folder, 'actors/.removed'));
  } catch {
    return [];
  }
};

function ask(): Promise<ShardCopy> {
  return member.fixture.query<Promise<ShardCopy>>(actor, { type: 'CopyShard' });
}

it('a copy arrives through the router in pieces cut anywhere, complete, and leaves nothing behind', async () => {
  const router = {
    command: () => Promise.reject(new Error('nobody commands')),
    async query(): Promise<ShardCopy> {
      const { chunks } = await ask();
      return { chunks: inPieces(chunks, 7_001) };
    },
  };
  const position = await new RoutedCopies(router, systemClock).copy(actor, join(folder, 'copy'));
  const direct = await member.fixture.host.copy(actor, join(folder, 'direct'));
  expect(position.sequence).toBeGreaterThan(0);
  expect(position).toEqual(direct);
  const tables = tableNamesOf(actorKinds(defaultLimits), actor);
  const rows = rowsOfFile(join(folder, 'copy/data.mdb'), tables);
  expect(rows.size).toBeGreaterThan(50);
  expect(rows).toEqual(rowsOfFile(join(folder, 'direct/data.mdb'), tables));
  expect(leftFiles()).toEqual([]);
});

it('a copy that is cut off is requested again, and an incomplete one is refused', async () => {
  const { chunks } = await ask();
  const all: string[] = [];
  for await (const chunk of chunks) all.push(chunk);
  const told = async function* (count: number): AsyncGenerator<string> {
    yield* all.slice(0, count);
  };
  await expect(receiveShard(told(all.length - 1), join(folder, 'part'))).rejects.toMatchObject({
    code: 'NOT_OWNER',
  });
  let asked = 0;
  const router = {
    command: () => Promise.reject(new Error('nobody commands')),
    query: (): ShardCopy => ({ chunks: told(asked++ < 2 ? 2 : all.length) }),
  };
  await new RoutedCopies(router, systemClock).copy(actor, join(folder, 'again'));
  expect(asked).toBe(3);
  await receiveShard(told(all.length), join(folder, 'whole'));
  expect(readFileSync(join(folder, 'again/data.mdb'))).toEqual(readFileSync(join(folder, 'whole/data.mdb')));
});

it('rows and copies are for the engine only', async () => {
  for (const caller of [callers.admin, callers.anonymous]) {
    expect(() => member.fixture.query(actor, { type: 'CopyShard' }, caller)).toThrow(ServiceError);
    const rows = { type: 'ImportRows', entry: new Uint8Array(0) };
    await expect(member.fixture.command(actor, rows, caller)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  }
});

it('a reader that stops early leaves nothing behind', async () => {
  const { chunks } = await ask();
  expect(leftFiles()).toHaveLength(1);
  for await (const _ of chunks) break;
  expect(leftFiles()).toEqual([]);
});

async function* inPieces(chunks: AsyncIterable<string>, length: number): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += length) yield chunk.slice(at, at + length);
  }
}
