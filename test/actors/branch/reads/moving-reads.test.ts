import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BranchQuery } from '#actors/branch/messages.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { RestlessReads } from '#test/support/restless-reads.ts';

const workspace = WORKSPACE;
const place = { path: '/large' };
const reads = new RestlessReads(['ReadNode', 'ReadProperty', 'ReadVersions']);
let family: BranchFamily;

beforeAll(async () => {
  family = await BranchFamily.open((kind) => reads.watched(kind));
  await family.create('main', '/large', 'x'.repeat(600_000));
  await family.command('main', { type: 'CreateVersion', workspace, place });
});
afterAll(() => family.close());

it.each<readonly [string, BranchQuery, number]>([
  ['a node', { type: 'ReadNode', workspace, place }, 1],
  ['a node in a locale', { type: 'ReadNode', workspace, place, lang: 'de' }, 1],
  ['a part of a node', { type: 'ReadNode', workspace, place, fields: ['title'] }, 1],
  ['a property', { type: 'ReadProperty', workspace, place, property: ['title'] }, 1],
  ['a manual version', { type: 'ReadVersions', workspace, place, version: 1 }, 1],
])('%s that waits for memory pins nothing, and is that of then', async (_, query, waits) => {
  await family.update('main', '/large', 'y'.repeat(600_000 + reads.roomWaits));
  reads.meanwhile = async () => {};
  const before = await family.query('main', query);
  reads.roomWaits = 0;
  reads.pinnedRoomWaits = 0;
  reads.meanwhile = async () => {
    reads.meanwhile = async () => {};
    await family.update('main', '/large', 'short');
    await family.create('main', `/large/below${reads.pauses}`);
  };
  expect(await family.query('main', query)).toEqual(before);
  expect([reads.roomWaits, reads.pinnedRoomWaits]).toEqual([waits, 0]);
});
