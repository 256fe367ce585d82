import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchQuery } from '#actors/branch/messages.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { commandSurfaces } from './command-surfaces.ts';
import { ask, type HiddenWorld, hidden, openHiddenWorld, operations, send } from './hidden-world.ts';
import { heavy } from './heavy-permissions.ts';
import { type NamedPlace, querySurfaces } from './query-surfaces.ts';

/** A surface that names a node. */
interface NamingSurface {
  readonly attempts: (named: NamedPlace, world: HiddenWorld) => readonly never[];
}

const named = Object.entries({ ...querySurfaces, ...commandSurfaces })
  // A boolean query names no node; it is among the lists below.
  .filter(([type, { kind }]) => kind === 'node' && type !== 'RunDslQuery')
  .map(([type, surface]) => [type, surface as unknown as NamingSurface] as const);

describe('a role whose permissions take too much work for a node', () => {
  let world: HiddenWorld;
  const caller = roleCaller(heavy, { identity: 'ada' });

  beforeAll(async () => {
    world = await openHiddenWorld();
  });
  afterAll(() => world.branch.close());

  it.each(named)('ends %s with the same error, and changes nothing [ACC-042]', async (type, { attempts }) => {
    for (const attempt of attempts({ path: hidden.path, id: hidden.id }, world)) {
      const answer = await (type in querySurfaces ? ask : send)(world, attempt, caller);
      expect([attempt, answer]).toEqual([
        attempt,
        expect.stringMatching(
          /"code":"REQUEST_TOO_EXPENSIVE","message":"[^"]*permissions of the caller's roles/,
        ),
      ]);
      for (const trace of hidden.traces) expect(answer).not.toContain(trace);
    }
    expect(await world.branch.read(hidden.path)).toMatchObject({ version: 3 });
  });

  it('ends reads of leaves, lists, counts and histories with it [ACC-042]', async () => {
    const workspace = 'content';
    const queries: readonly BranchQuery[] = [
      // A leaf without relations, which is read the quickest way.
      { type: 'ReadNode', workspace, place: { path: hidden.below } },
      { type: 'ListChildren', workspace, place: { path: '/' }, scope: 's' },
      { type: 'ListChildren', workspace, place: { path: '/' }, scope: 's', limit: 1 },
      { type: 'ReadTree', workspace, place: { path: '/' }, levels: 3, form: 'flat' },
      { type: 'RunQuery', workspace, selector: { nodeType: 'test:Document' } },
      { type: 'RunDslQuery', workspace, filter: { node_type: { eq: 'test:Document' } } },
      { type: 'RunDslQuery', workspace, filter: { 'properties.status': { eq: 'seen' } } },
      { type: 'ReadRevision', revision: world.revisions[0] as never },
      { type: 'ReadRevisionChanges', revision: world.revisions[0] as never },
    ];
    for (const query of queries)
      expect([query, await ask(world, query, caller)]).toEqual([
        query,
        expect.stringContaining('"code":"REQUEST_TOO_EXPENSIVE"'),
      ]);
  });

  it('keeps nobody else from anything', async () => {
    const query = { type: 'ReadNode', workspace: 'content', place: { path: hidden.path } } as const;
    expect(await ask(world, query, roleCaller([{ path: '**', operations }]))).toContain('classified secret');
  });
});
