import { afterAll, beforeAll, expect, it } from 'vitest';
import type { CommitOperation } from '#actors/branch/messages.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { propertyIndexJob, PropertyIndexBuild } from '#server/jobs/property-index-build.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';

/** More nodes than several steps of the job have. */
const NODES = 1_000;

let family: BranchFamily;

beforeAll(async () => {
  family = await BranchFamily.open();
  await declare([]);
  const operations: CommitOperation[] = Array.from({ length: NODES }, (_, n) => ({
    type: 'create',
    parentPath: '/',
    node: { name: `n${n}`, nodeType: 'test:Item', properties: n % 2 === 0 ? { rank: n % 10 } : {} },
  }));
  const commit = { message: 'many' };
  await family.command('main', { type: 'CommitOperations', workspace: WORKSPACE, commit, operations });
});
afterAll(() => family.close());

function declare(index: readonly string[]): Promise<unknown> {
  const properties = [{ name: 'rank', type: 'Number', ...(index.length === 0 ? {} : { index }) }];
  const definition = { name: 'test:Item', properties } as unknown as JsonObject;
  return family.command('main', { type: 'PutDefinition', kind: 'node_type', definition });
}

async function total(filter: JsonObject): Promise<number> {
  const query = { type: 'RunDslQuery', workspace: WORKSPACE, filter: { ...filter, limit: 1 } } as const;
  return (await family.query<{ readonly page: { readonly total: number } }>('main', query)).page.total;
}

const pending = (): Promise<number> =>
  family.query<number>('main', { type: 'CountPendingIndexes' }, callers.engine);

it('builds an index behind a type change, in steps between which the branch is written', async () => {
  await declare(['Property']);
  expect(await pending()).toBe(NODES);
  const three = { node_type: { eq: 'test:Item' }, 'properties.rank': { eq: 4 } };
  expect(await total(three)).toBe(100);
  const { host } = family.fixture;
  let written = 0;
  const router: Router = {
    query: async (actor, query, caller) => host.query(actor, query, caller),
    async command(actor, command, delivery) {
      const step = await host.command(actor, command, delivery);
      // Renamed nodes pass the place that the build has reached.
      const place = { path: `/n${written}` };
      written += 1;
      await family.command('main', {
        type: 'RenameNode',
        workspace: WORKSPACE,
        place,
        newName: `a${written}`,
      });
      return step;
    },
  };
  const job = new PropertyIndexBuild(router, systemClock);
  const { payload } = propertyIndexJob(family.actor('main'), '1-0');
  const told: number[] = [];
  const { signal } = new AbortController();
  const progress = (fraction: number): unknown => told.push(fraction);
  const result = await job.run({ id: 'j', tenant: 'default', payload, signal, progress });
  expect(written).toBeGreaterThan(3);
  expect(result).toEqual({ nodes: NODES });
  expect(told).toEqual(told.toSorted((a, b) => a - b));
  expect(told.length).toBe(written - 1);
  expect(await pending()).toBe(0);
  expect(await total(three)).toBe(100);
  expect(await family.damage('main')).toEqual([]);

  await declare([]);
  expect(await pending()).toBe(NODES);
  await job.run({ id: 'k', tenant: 'default', payload, signal, progress });
  expect(await pending()).toBe(0);
  expect(await family.damage('main')).toEqual([]);
});

it('goes on in a fork where it was in the source, and each branch completes its own', async () => {
  await declare(['Property']);
  const step = { type: 'BuildIndexes', nodesMax: 100 } as const;
  await family.command('main', step);
  await family.fork('copy', 'main', await family.head('main'));
  const { signal } = new AbortController();
  const job = new PropertyIndexBuild(family.fixture.host as unknown as Router, systemClock);
  for (const branch of ['copy', 'main']) {
    const { payload } = propertyIndexJob(family.actor(branch), '1-0');
    const result = await job.run({
      id: branch,
      tenant: 'default',
      payload,
      signal,
      progress: () => undefined,
    });
    expect(result).toEqual({ nodes: NODES - 100 });
    expect(await family.damage(branch)).toEqual([]);
  }
});

it('is for the engine alone', async () => {
  const { fixture } = family;
  const actor = family.actor('main');
  const sent = fixture.host.command(actor, { type: 'BuildIndexes', nodesMax: 1 }, { caller: callers.admin });
  await expect(sent).rejects.toMatchObject({ code: 'FORBIDDEN' });
  expect(() => fixture.query(actor, { type: 'CountPendingIndexes' }, callers.admin)).toThrow();
});
