import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Router } from '#runtime/actor/ports.ts';
import { unknownMessage } from '#runtime/actor/unknown-message.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { RevisionHistoryCopy } from '#server/jobs/revision-history-copy.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

let family: BranchFamily;

beforeEach(async () => {
  family = await BranchFamily.open();
  const start = await family.head('main');
  for (const name of ['a', 'b', 'c']) {
    const node = { name, nodeType: 'svc:Folder', properties: {} };
    await family.command('main', {
      type: 'CreateNode',
      workspace: WORKSPACE,
      parentPath: '/',
      node,
      deep: false,
    });
  }
  await family.fork('fork', 'main', start);
});

afterEach(() => family.close());

/** The owners of branches on a member that does not know some names of messages. */
function ownerWithout(unknown: readonly string[]): Router {
  const { host } = family.fixture;
  const refuse = (message: unknown): void => {
    const { type } = message as { readonly type: string };
    if (unknown.includes(type)) unknownMessage(message as never);
  };
  return {
    async command(actor, command, delivery) {
      refuse(command);
      return host.command(actor, command, delivery);
    },
    async query(actor, query, caller) {
      refuse(query);
      return host.query(actor, query, caller);
    },
  };
}

it.each([
  ['of this version', ['RemoveLeftovers', 'CountLeftovers']],
  ['of the version before', ['RemoveOrphanedVersions', 'CountOrphanedVersions']],
])('completes a fork whose owner is a member %s', async (_which, unknown) => {
  const job = new RevisionHistoryCopy(ownerWithout(unknown), systemClock);
  const told: number[] = [];
  const payload = { branch: family.actor('fork') };
  const { signal } = new AbortController();
  const progress = (fraction: number): unknown => told.push(fraction);
  const result = await job.run({ id: 'j', tenant: 'default', payload, signal, progress });
  expect(result).toMatchObject({ revisions: 3 });
  expect(told.at(-1)).toBe(1);
  expect(await family.orphanedRows('fork')).toEqual([]);
});
