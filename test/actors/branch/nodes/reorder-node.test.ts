import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ORDER_KEY_LENGTH_MAX } from '#runtime/content/order-key.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { PastNodeReader } from '#runtime/tree/past-node-reader.ts';
import { revisionsUpTo } from '#runtime/tree/leading-revisions.ts';
import { readBranchHead, readChanges, readRevision } from '#runtime/tree/revision-store.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const failsWith = (code: string) => expect.objectContaining({ code });

describe('reordering siblings', () => {
  /** Nodes one commit may change; neighbours that get new keys do not count. */
  const most = 100;
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({ commitNodesMax: most });
  });
  afterAll(async () => {
    expect(await branch.inspect(findDamage)).toEqual([]);
    await branch.close();
  });

  const family = async (parent: string, ...names: string[]) => {
    await branch.create(parent);
    for (const name of names) await branch.create(`${parent}/${name}`);
    return names.map((name) => `${parent}/${name}`);
  };
  const reorder = (path: string, position: 'before' | 'after', targetPath: string) =>
    branch.command({ type: 'ReorderNode', workspace, place: { path }, targetPath, position });

  it('puts a node before or after a sibling [CMD-026]', async () => {
    const paths = await family('/xyz', 'x', 'y', 'z');
    await reorder('/xyz/z', 'before', '/xyz/y');
    expect(await branch.inOrder(...paths)).toEqual(['x', 'z', 'y']);
    await reorder('/xyz/x', 'after', '/xyz/z');
    expect(await branch.inOrder(...paths)).toEqual(['z', 'x', 'y']);
  });

  it('puts the last one first [CMD-027]', async () => {
    const paths = await family('/bcd', 'b', 'c', 'd');
    await reorder('/bcd/d', 'before', '/bcd/b');
    expect(await branch.inOrder(...paths)).toEqual(['d', 'b', 'c']);
  });

  it('works at the root of a workspace', async () => {
    for (const name of ['r1', 'r2', 'r3']) await branch.create(`/${name}`);
    await reorder('/r3', 'before', '/r1');
    expect(await branch.inOrder('/r1', '/r2', '/r3')).toEqual(['r3', 'r1', 'r2']);
  });

  it('does nothing when the node is moved next to itself or to its current position [CMD-028]', async () => {
    const paths = await family('/still', 'a', 'b', 'c');
    const before = await Promise.all(paths.map((path) => branch.read(path)));
    expect(await reorder('/still/b', 'after', '/still/b')).toEqual({ revision: null });
    expect(await reorder('/still/b', 'before', '/still/c')).toEqual({ revision: null });
    expect(await reorder('/still/b', 'after', '/still/a')).toEqual({ revision: null });
    expect(await Promise.all(paths.map((path) => branch.read(path)))).toEqual(before);
  });

  it('does not find a sibling that is missing [CMD-029]', async () => {
    const paths = await family('/miss', 'a', 'b');
    await expect(reorder('/miss/b', 'before', '/miss/none')).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
    expect(await branch.inOrder(...paths)).toEqual(['a', 'b']);
  });

  it('refuses a node of another parent [CMD-030]', async () => {
    await family('/one', 'a');
    await family('/two', 'b');
    await expect(reorder('/one/a', 'before', '/two/b')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await expect(reorder('/one/a', 'after', '/one')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
  });

  it('lists a new child behind children that were reordered [LIST-016]', async () => {
    const paths = await family('/new', 'a', 'b', 'c');
    await reorder('/new/a', 'after', '/new/c');
    await branch.create('/new/d');
    expect(await branch.inOrder(...paths, '/new/d')).toEqual(['b', 'c', 'a', 'd']);
  });

  it('changes only the moved node, and records that in the revision', async () => {
    const [first, second, third] = (await family('/quiet', 'a', 'b', 'c')) as [string, string, string];
    const neighbours = [await branch.read(first), await branch.read(second)];
    const { revision } = await reorder(third, 'before', first);
    expect(await branch.read(third)).toMatchObject({ version: 2 });
    expect([await branch.read(first), await branch.read(second)]).toEqual(neighbours);
    const changes = await branch.inspect((reader) => {
      const record = readRevision(reader, parseRevision(revision as string));
      return record === undefined ? [] : readChanges(reader, record);
    });
    expect(changes.map(({ operation, path }) => [operation, path])).toEqual([['reordered', third]]);
  });

  it('gives neighbours new keys when a gap is used a thousand times, without touching their versions', async () => {
    const count = 1500;
    await branch.create('/gap');
    const names = Array.from({ length: count }, (_, index) => `n${index}`);
    await Promise.all(['first', 'last', ...names].map((name) => branch.create(`/gap/${name}`)));
    // Each one goes between the last two that were placed, which makes keys grow fastest.
    let [left, right] = ['first', 'last'];
    const expectedLeft: string[] = [];
    const expectedRight: string[] = [];
    const written = await Promise.all(
      names.map((name, index) => {
        const sent =
          index % 2 === 0
            ? reorder(`/gap/${name}`, 'before', `/gap/${right}`)
            : reorder(`/gap/${name}`, 'after', `/gap/${left}`);
        if (index % 2 === 0) {
          left = name;
          expectedLeft.push(name);
        } else {
          right = name;
          expectedRight.unshift(name);
        }
        return sent;
      }),
    );
    const stored = await branch.inspect((reader) => {
      const head = new HeadNodeReader(reader);
      const parent = head.idAt(workspace, '/gap') as string;
      const children = [...head.children(workspace, parent)];
      const nodes = children.map(({ id }) => head.byId(workspace, id));
      const earlier = new PastNodeReader(reader, parseRevision(written[4]?.revision as string));
      const revisions = [...revisionsUpTo(reader, readBranchHead(reader).head)];
      return {
        keyLengths: children.map(({ orderKey }) => orderKey.length),
        order: nodes.map((node) => node?.header.name),
        versions: new Map(nodes.map((node) => [node?.header.name, node?.header.version])),
        largest: Math.max(...revisions.map(({ changeCount }) => changeCount)),
        past: [...earlier.children(workspace, parent)].map(
          ({ id }) => earlier.byId(workspace, id)?.header.name,
        ),
      };
    });
    expect(stored.order).toEqual(['first', ...expectedLeft, ...expectedRight, 'last']);
    expect(Math.max(...stored.keyLengths)).toBeLessThanOrEqual(ORDER_KEY_LENGTH_MAX);
    expect(stored.largest).toBeGreaterThan(most);
    for (const name of names) expect(stored.versions.get(name)).toBe(2);
    expect(stored.versions.get('first')).toBe(1);
    expect(stored.past).toHaveLength(count + 2);
    expect(stored.past.slice(0, 8)).toEqual(['first', 'n0', 'n2', 'n4', 'n3', 'n1', 'last', 'n5']);
  });
});
