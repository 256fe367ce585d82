import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BranchQuery } from '#actors/branch/messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { RestlessReads } from '#test/support/restless-reads.ts';

const workspace = WORKSPACE;
const place = { path: '/large' };
const reads = new RestlessReads(['ReadNode', 'ReadProperty', 'ReadVersions', 'ListIncomingReferences']);
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

interface Page {
  readonly items: readonly { readonly source: { readonly id: string } }[];
  readonly next_cursor: string | null;
}

it('a page of incoming references ends where the branch gets another head, with a cursor', async () => {
  const sources = Array.from({ length: 300 }, (_, index) => `s${1_000 + index}`);
  await family.create('main', '/target', '', 'target');
  const relate = (path: string) =>
    family.command('main', {
      type: 'AddRelation',
      workspace,
      place: { path },
      targetWorkspace: workspace,
      targetPath: '/target',
      relationType: 'about',
      weight: 1,
    });
  for (const id of sources) {
    await family.create('main', `/${id}`, '', id);
    await relate(`/${id}`);
  }
  const at = parseRevision(await family.head('main'));
  const page = (cursor?: string, then = {}): Promise<Page> =>
    family.query('main', {
      type: 'ListIncomingReferences',
      workspace,
      place: { path: '/target' },
      scope: 's',
      limit: 1_000,
      ...then,
      ...(cursor === undefined ? {} : { cursor }),
    });
  const ids = ({ items }: Page) => items.map(({ source }) => source.id);
  reads.meanwhile = async () => {};
  const begun = reads.pauses;
  reads.meanwhile = async () => {
    if (reads.pauses !== begun + 20) return;
    await family.delete('main', '/s1200');
    await family.create('main', '/s1100x', '', 's1100x');
    await relate('/s1100x');
  };
  const first = await page();
  const seen = ids(first);
  expect(seen).toEqual(sources.slice(0, seen.length));
  expect(seen.length).toBeLessThan(100);
  const second = await page(first.next_cursor as string);
  expect(second.next_cursor).toBeNull();
  const now = [...sources.filter((id) => id !== 's1200'), 's1100x'].sort();
  expect([...seen, ...ids(second)]).toEqual(now);
  expect(ids(await page(undefined, { at }))).toEqual(sources);
});
