import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BranchCommand, NodeWritten } from '#actors/branch/messages.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { engineUser } from '#test/support/engine.ts';
import {
  BRANCH,
  CONTENT,
  openBranchShard,
  openTestBranch,
  type TestBranch,
} from '#test/support/test-branch.ts';

let folder: string;
let branch: TestBranch;
let numbers = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grove-recall-'));
  branch = await openTestBranch(folder);
});

afterAll(async () => {
  await branch.engine.close();
  rmSync(folder, { recursive: true });
});

const text = 'a text of some length '.repeat(100);

/** Sends a command as another member does, and again after something else has changed the node and its parent. */
async function twice(command: BranchCommand): Promise<readonly [NodeWritten, NodeWritten]> {
  numbers += 1;
  const call = { session: '0011223344556677', slot: 0, number: numbers };
  const send = () => branch.engine.host.command(BRANCH, command, { caller: engineUser, call });
  const first = (await send()) as NodeWritten;
  const { path } = JSON.parse(first.node) as { path: string };
  await branch.command({
    type: 'UpdateNode',
    workspace: CONTENT,
    place: { path },
    properties: { title: `changed ${numbers}` },
  });
  await branch.create(`${path}/below-${numbers}`);
  return [first, (await send()) as NodeWritten];
}

const place = { path: '/a' };

it.each<[string, () => BranchCommand | Promise<BranchCommand>]>([
  [
    'a create',
    () => ({
      type: 'CreateNode',
      workspace: CONTENT,
      parentPath: '/',
      node: { name: 'a', nodeType: 'test:Article', properties: { title: 'first', text } },
      deep: false,
    }),
  ],
  [
    'an update',
    () => ({ type: 'UpdateNode', workspace: CONTENT, place, properties: { title: 'second', text } }),
  ],
  [
    'a copy of a tree',
    () => ({ type: 'CopyNode', workspace: CONTENT, place, targetPath: '/', newName: 'b', tree: true }),
  ],
  [
    'a version brought back',
    async () => {
      const made = { type: 'CreateVersion', workspace: CONTENT, place } as const;
      const { version } = (await branch.command(made)) as { version: number };
      await branch.command({
        type: 'UpdateNode',
        workspace: CONTENT,
        place,
        properties: { title: 'third' },
      });
      return { type: 'RestoreVersion', workspace: CONTENT, place, version };
    },
  ],
])(
  '%s, when another member repeats it, is answered with the node as of the first call, which is not stored twice',
  async (_what, make) => {
    const [first, again] = await twice(await make());
    expect(again).toEqual(first);
    expect(JSON.parse(first.node).properties.title).not.toBe(`changed ${numbers}`);
  },
);

it('keeps next to nothing of a large node', async () => {
  await branch.engine.close();
  const shard = openBranchShard(folder);
  const rows = [...shard.range(CommonTable.idempotency, { start: '\u0001', end: '\u0002' })];
  await shard.close();
  branch = await openTestBranch(folder);
  expect(rows).toHaveLength(1);
  expect(rows[0]?.value.length).toBeLessThan(150);
});
