import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand } from '#actors/branch/messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { OrphansRemoved } from '#runtime/tree/orphaned-versions.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const workspace = WORKSPACE;

/** One thing somebody does; numbers pick from what is there. There are few names, so that places are used again. */
interface Step {
  readonly do:
    | 'create'
    | 'update'
    | 'rename'
    | 'move'
    | 'delete'
    | 'reorder'
    | 'translate'
    | 'define'
    | 'rewind'
    | 'version';
  readonly a: number;
  readonly b: number;
}

const step = fc.record<Step>({
  do: fc.constantFrom(
    'create',
    'create',
    'create',
    'update',
    'rename',
    'move',
    'move',
    'delete',
    'reorder',
    'translate',
    'define',
    'rewind',
    'version',
  ),
  a: fc.nat({ max: 12 }),
  b: fc.nat({ max: 12 }),
});

const steps = (most: number) => fc.array(step, { minLength: 1, maxLength: most });

interface Shown {
  readonly id: string;
  readonly path: string;
}

const auditedType = (n: number) => ({
  name: 'own:Doc',
  properties: [{ name: 'title', type: 'String' }],
  auditable: true,
  description: `form ${n}`,
});

describe('removing the orphaned versions of a fork', () => {
  let family: BranchFamily;
  let names = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
    await family.command('main', {
      type: 'PutDefinition',
      kind: 'node_type',
      definition: auditedType(0),
    });
  });
  afterAll(() => family.close());

  function nodes(branch: string): Promise<readonly Shown[]> {
    const query = { type: 'ReadTree', workspace, place: { path: '/' }, levels: 100, form: 'flat' } as const;
    return family.query(branch, query);
  }

  /** Undefined when there is nothing to do it to. */
  async function commandOf(
    branch: string,
    { a, b, do: what }: Step,
    moments: readonly string[],
  ): Promise<BranchCommand | undefined> {
    if (what === 'define') {
      return { type: 'PutDefinition', kind: 'node_type', definition: auditedType(b) };
    }
    if (what === 'rewind') return { type: 'MoveHead', revision: moments[a % moments.length] as string };
    const present = await nodes(branch);
    const node = present[a % Math.max(present.length, 1)];
    const other = present[b % Math.max(present.length, 1)];
    if (what === 'create') {
      const parentPath = node === undefined || b % 3 === 0 ? '/' : node.path;
      const properties = { title: `t${b}` };
      const made = { name: `m${b % 3}`, id: `n${a}`, nodeType: 'own:Doc', properties };
      return { type: 'CreateNode', workspace, parentPath, node: made, deep: false };
    }
    if (node === undefined || other === undefined) return undefined;
    const on = { workspace, place: { path: node.path } };
    switch (what) {
      case 'update':
        return { type: 'UpdateNode', ...on, properties: { title: `u${b}` } };
      case 'rename':
        return { type: 'RenameNode', ...on, newName: `m${b % 3}` };
      case 'move':
        return { type: 'MoveNode', ...on, targetPath: `${b % 4 === 0 ? '' : other.path}/m${a % 3}` };
      case 'delete':
        return { type: 'DeleteNode', ...on };
      case 'translate':
        return { type: 'TranslateNode', ...on, locale: 'de', translations: { '/title': `x${b}` } };
      case 'reorder':
        return { type: 'ReorderNode', ...on, targetPath: other.path, position: 'before' };
      case 'version':
        return { type: 'CreateVersion', ...on, note: `v${b}` };
    }
  }

  /** Does it all on a branch, as far as it is allowed. @returns every revision the branch has stood at, before and after */
  async function work(branch: string, all: readonly Step[], before: readonly string[]): Promise<string[]> {
    const moments = [...before, await family.head(branch)];
    for (const one of all) {
      const command = await commandOf(branch, one, moments);
      if (command === undefined) continue;
      try {
        await family.command(branch, command);
      } catch (error) {
        if (!(error instanceof ServiceError) || error.entry.status >= 500) throw error;
      }
      moments.push(await family.head(branch));
    }
    return [...new Set(moments)];
  }

  /** Everything a reader can see of a branch. */
  async function seen(branch: string, moments: readonly string[]): Promise<unknown> {
    const shown: unknown[] = [await nodes(branch)];
    for (const moment of moments) {
      const at = parseRevision(moment);
      const tree = { type: 'ReadTree', workspace, place: { path: '/' }, levels: 100, form: 'array', at };
      const types = { type: 'ListDefinitions', kind: 'node_type', publishedOnly: false, at };
      shown.push([moment, await answer(branch, tree), await answer(branch, types)]);
      shown.push(await answer(branch, { type: 'ReadRevision', revision: at }));
    }
    for (let n = 0; n <= 12; n++) {
      const of = { workspace, place: { id: `n${n}` } };
      for (const type of ['ReadHistory', 'ReadAudit', 'ReadVersions']) {
        shown.push(await answer(branch, { type, ...of }));
      }
    }
    shown.push(await answer(branch, { type: 'ListRevisions', limit: 1000, offset: 0, includeSystem: true }));
    return shown;
  }

  async function answer(branch: string, query: object): Promise<unknown> {
    try {
      return await family.query(branch, query as never);
    } catch (error) {
      if (error instanceof ServiceError && error.entry.status < 500) return error.message;
      throw error;
    }
  }

  /** Removes them a few at a time. @returns how many calls it took */
  async function removeAll(branch: string, rowsMax: number): Promise<number> {
    for (let calls = 1; calls < 5_000; calls++) {
      const command = { type: 'RemoveOrphanedVersions', rowsMax } as const;
      const { isDone } = await family.fixture.command<OrphansRemoved>(family.actor(branch), command);
      if (isDone) return calls;
    }
    throw new Error('it never ends');
  }

  const count = (branch: string) =>
    family.query<number>(branch, { type: 'CountOrphanedVersions' }, callers.engine);

  it('removes every row of them and changes no visible state, also in forks of forks', async () => {
    await fc.assert(
      fc.asyncProperty(
        steps(25),
        fc.nat(),
        steps(12),
        fc.nat(),
        steps(6),
        fc.integer({ min: 1, max: 30 }),
        async (first, forkAt, second, forkAgainAt, third, rowsMax) => {
          names += 1;
          const [source, fork, again] = [`s${names}`, `f${names}`, `g${names}`];
          await family.fork(source, 'main');
          const known = await work(source, first, []);
          await family.fork(fork, source, known[forkAt % known.length] as string);
          const forked = await work(fork, second, [known[forkAt % known.length] as string]);
          // While orphaned versions of the first fork are still there.
          await family.fork(again, fork, forked[forkAgainAt % forked.length] as string);
          const last = await work(again, third, [forked[forkAgainAt % forked.length] as string]);
          const moments = [...new Set([...known, ...forked, ...last])];
          for (const branch of [fork, again]) {
            const before = await seen(branch, moments);
            const calls = await removeAll(branch, rowsMax);
            expect(calls).toBeGreaterThan(0);
            expect(await seen(branch, moments)).toEqual(before);
            expect(await family.orphanedRows(branch)).toEqual([]);
            expect(await count(branch)).toBe(0);
            expect(await family.damage(branch)).toEqual([]);
          }
          for (const branch of [again, fork, source]) await family.remove(branch);
        },
      ),
      { numRuns: workloadCount(15) },
    );
  }, 120_000);

  it('leaves the fork unchanged in between, and a copy of it can resume', async () => {
    await family.fork('half', 'main');
    const before = await work('half', [{ do: 'create', a: 1, b: 0 }], []);
    const start = before.at(-1) as string;
    for (let n = 0; n < 30; n++) await work('half', [{ do: 'update', a: 0, b: n }], []);
    await family.fork('half-fork', 'half', start);
    expect(await count('half-fork')).toBe(30);
    const shown = await seen('half-fork', before);
    const command = { type: 'RemoveOrphanedVersions', rowsMax: 20 } as const;
    const once = await family.fixture.command<OrphansRemoved>(family.actor('half-fork'), command);
    expect(once).toMatchObject({ isDone: false });
    expect(once.rows).toBeGreaterThanOrEqual(20);
    expect(await seen('half-fork', before)).toEqual(shown);
    await family.fork('half-copy', 'half-fork');
    await family.remove('half-fork');
    await removeAll('half-copy', 20);
    expect(await family.orphanedRows('half-copy')).toEqual([]);
  });

  it('removes what revisions of thousands of nodes left over, slice by slice', async () => {
    await family.fork('large', 'main');
    const start = await family.head('large');
    await family.create('large', '/top', 'top', 'top');
    const operations = Array.from({ length: 1_100 }, (_, n) => ({
      type: 'create' as const,
      parentPath: '/top',
      node: { name: `c${n}`, nodeType: 'svc:Folder', properties: {} },
    }));
    for (let from = 0; from < operations.length; from += 500) {
      for (const { node, parentPath } of operations.slice(from, from + 500)) {
        await family.fixture.command(family.actor('large'), {
          type: 'CreateNode',
          workspace,
          parentPath,
          node,
          deep: false,
        } as { type: string });
      }
    }
    // One revision of more changes than a chunk has.
    await family.rename('large', '/top', 'moved');
    await family.fork('large-fork', 'large', start);
    expect(await count('large-fork')).toBe(1_102);
    const calls = await removeAll('large-fork', 500);
    expect(calls).toBeGreaterThan(10);
    expect(await family.orphanedRows('large-fork')).toEqual([]);
    expect(await nodes('large-fork')).toEqual([]);
  }, 60_000);

  it('is for the engine only', async () => {
    await family.fork('guarded', 'main');
    const actor = family.actor('guarded');
    const command = { type: 'RemoveOrphanedVersions', rowsMax: 10 };
    await expect(family.fixture.command(actor, command, callers.admin)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    expect(() => family.fixture.query(actor, { type: 'CountOrphanedVersions' }, callers.admin)).toThrow();
  });
});
