import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, openBranch, WORKSPACE as workspace } from '#test/support/branch-fixture.ts';
import { type Changed, changeBySql } from '#test/support/sql-garden.ts';
import { workloadCount } from '#test/support/workload-count.ts';

interface Step {
  readonly do: 'create' | 'update' | 'rename' | 'move' | 'delete' | 'translate' | 'archetype' | 'back';
  readonly a: number;
  readonly b: number;
}

const steps = fc.array(
  fc.record<Step>({
    do: fc.constantFrom(
      'create',
      'create',
      'update',
      'rename',
      'move',
      'delete',
      'translate',
      'archetype',
      'back',
    ),
    a: fc.nat({ max: 7 }),
    b: fc.nat({ max: 5 }),
  }),
  { minLength: 4, maxLength: 18 },
);

type Node = JsonObject & { readonly id: string; readonly name: string; readonly path: string };

/** The nodes by id, seen when a revision was the head. */
interface Moment {
  readonly revision: string;
  readonly nodes: ReadonlyMap<string, Node>;
}

/** What RESTORE restores. */
function restored({ archetype, name, properties, translations }: Node): unknown {
  return { archetype, name, properties, translations };
}

describe('RESTORE after a random history', () => {
  let branch: BranchFixture;
  let start: string;

  beforeAll(async () => {
    const nodeTypes = [{ name: 'test:Kind', properties: [{ name: 'title', type: 'String' }] }];
    const archetypes = ['test:one', 'test:two'].map((name) => ({ name }));
    branch = await openBranch({ nodeTypes, archetypes });
    start = ((await branch.query({ type: 'ReadBranchState' })) as { head: string }).head;
  });
  afterAll(async () => {
    await branch.inspect((reader) => expect(findDamage(reader)).toEqual([]));
    await branch.close();
  });

  async function nodesNow(): Promise<ReadonlyMap<string, Node>> {
    const place = { path: '/' };
    const nodes = await branch.query({ type: 'ReadTree', workspace, place, levels: 100, form: 'flat' });
    return new Map((nodes as readonly Node[]).map((node) => [node.id, node]));
  }

  function commandOf(
    { a, b, do: what }: Step,
    nodes: readonly Node[],
    moments: readonly Moment[],
  ): BranchCommand | undefined {
    if (what === 'back') {
      if (b > 0) return undefined;
      return { type: 'MoveHead', revision: (moments[a % moments.length] as Moment).revision };
    }
    const node = nodes[a % Math.max(nodes.length, 1)];
    if (what === 'create') {
      const parentPath = b % 2 === 0 || node === undefined ? '/' : node.path;
      const properties = { title: `t${a}` };
      const made = { name: `n${b}`, nodeType: 'test:Kind', properties };
      return { type: 'CreateNode', workspace, parentPath, node: made, deep: false };
    }
    if (node === undefined) return undefined;
    const on = { workspace, place: { id: node.id } } as const;
    const other = nodes[b % nodes.length] as Node;
    switch (what) {
      case 'update':
        return { type: 'UpdateNode', ...on, properties: { title: `u${b}`, [`k${a}`]: b } };
      case 'archetype':
        return {
          type: 'UpdateNode',
          ...on,
          archetype: [null, 'test:one', 'test:two'][b % 3] as string | null,
        };
      case 'rename':
        return { type: 'RenameNode', ...on, newName: `r${b}` };
      case 'move':
        return { type: 'MoveNode', ...on, targetPath: `${b === 5 ? '' : other.path}/m${b}` };
      case 'delete':
        return { type: 'DeleteNode', ...on };
      case 'translate': {
        const translations = { '/title': `d${b}` };
        return { type: 'TranslateNode', ...on, locale: b % 2 === 0 ? 'de' : 'fr', translations };
      }
    }
  }

  /** Carries steps out; those that are refused have not happened. */
  async function live(list: readonly Step[]): Promise<Moment[]> {
    await branch.command({ type: 'MoveHead', revision: start });
    const moments: Moment[] = [{ revision: start, nodes: await nodesNow() }];
    for (const step of list) {
      const command = commandOf(step, [...(await nodesNow()).values()], moments);
      if (command === undefined) continue;
      try {
        const { revision } = (await branch.command(command)) as { revision: string | null };
        if (revision !== null) moments.push({ revision, nodes: await nodesNow() });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
      }
    }
    return moments;
  }

  async function outcomeOf(sql: string): Promise<Changed | string> {
    try {
      return await changeBySql(branch, sql);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return error.code;
    }
  }

  it('gives a node every earlier state of it, and says which nodes were not there [SQL-106]', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const moments = await live(list);
        for (const { nodes, revision } of moments) {
          for (const id of (await nodesNow()).keys()) {
            // An ancestor may have got another name.
            const before = (await nodesNow()).get(id) as Node;
            const outcome = await outcomeOf(`RESTORE NODE id='${id}' TO REVISION '${revision}'`);
            const then = nodes.get(id);
            const now = (await nodesNow()).get(id) as Node;
            if (typeof outcome === 'string') {
              expect(outcome).toBe(then === undefined ? 'NODE_NOT_FOUND' : 'NODE_ALREADY_EXISTS');
              expect(now.version).toBe(before.version);
              continue;
            }
            expect(outcome.rows[0]).toMatchObject({ affected_rows: 1, path: now.path, revision });
            expect(restored(now)).toEqual(restored(then as Node));
            expect(now.parent).toBe(before.parent);
            const isChanged = JSON.stringify(restored(before)) !== JSON.stringify(restored(now));
            if (isChanged) expect(now.version).toBe((before.version as number) + 1);
            count += 1;
          }
        }
      }),
      { numRuns: workloadCount(24) },
    );
    expect(count).toBeGreaterThan(0);
  });

  it('counts revisions as the history of the node lists them [SQL-104]', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const moments = await live(list);
        const { revision: head } = moments.at(-1) as Moment;
        for (const id of (await nodesNow()).keys()) {
          const history = (await branch.query({
            type: 'ReadHistory',
            workspace,
            place: { id },
          })) as readonly {
            readonly revision: string;
            readonly deleted: boolean;
          }[];
          for (const [distance, entry] of history.entries()) {
            const outcome = await outcomeOf(`RESTORE NODE id='${id}' TO REVISION HEAD~${distance}`);
            if (typeof outcome === 'string') {
              expect(outcome).toBe(entry.deleted ? 'NODE_NOT_FOUND' : 'NODE_ALREADY_EXISTS');
              continue;
            }
            expect(outcome.rows[0]?.['revision']).toBe(entry.revision);
            count += 1;
            await branch.command({ type: 'MoveHead', revision: head });
          }
          expect(await outcomeOf(`RESTORE NODE id='${id}' TO REVISION HEAD~${history.length}`)).toBe(
            'VALIDATION_FAILED',
          );
        }
      }),
      { numRuns: workloadCount(24) },
    );
    expect(count).toBeGreaterThan(0);
  });

  it('gives each node of a tree that is there its earlier state, or changes nothing', async () => {
    let count = 0;
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(), async (list, seed) => {
        const moments = await live(list);
        const before = await nodesNow();
        const top = [...before.values()][seed % Math.max(before.size, 1)];
        if (top === undefined) return;
        const { nodes, revision } = moments[seed % moments.length] as Moment;
        const outcome = await outcomeOf(`RESTORE TREE NODE id='${top.id}' TO REVISION '${revision}'`);
        const after = await nodesNow();
        expect([...after.keys()].sort()).toEqual([...before.keys()].sort());
        if (typeof outcome === 'string') {
          expect(outcome).toBe('NODE_ALREADY_EXISTS');
          expect(after).toEqual(before);
          return;
        }
        count += 1;
        for (const [id, node] of before) {
          const isInside = node.path === top.path || node.path.startsWith(`${top.path}/`);
          const then = isInside ? nodes.get(id) : undefined;
          expect(restored(after.get(id) as Node)).toEqual(restored(then ?? node));
          expect((after.get(id) as Node).order_key).toBe(node.order_key);
        }
      }),
      { numRuns: workloadCount(40) },
    );
    expect(count).toBeGreaterThan(0);
  });
});
