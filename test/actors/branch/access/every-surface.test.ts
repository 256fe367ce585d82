import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchQuery } from '#actors/branch/messages.ts';
import { commandSurfaces } from './command-surfaces.ts';
import {
  ask,
  callerTo,
  type HiddenWorld,
  hidden,
  hidings,
  missing,
  openHiddenWorld,
  send,
} from './hidden-world.ts';
import { querySurfaces, type Surface, wholeReads } from './query-surfaces.ts';

/** The surfaces of one kind, by the type of their message. */
function ofKind<
  Surfaces extends { readonly [type: string]: Surface<unknown> },
  Kind extends Surface<unknown>['kind'],
>(surfaces: Surfaces, kind: Kind): (readonly [string, Extract<Surfaces[keyof Surfaces], { kind: Kind }>])[] {
  return Object.entries(surfaces)
    .filter(([, surface]) => surface.kind === kind)
    .map(([type, surface]) => [type, surface as Extract<Surfaces[keyof Surfaces], { kind: Kind }>]);
}

const byId = { path: hidden.path, id: hidden.id };

describe.each(Object.keys(hidings))('a node that is hidden %s', (way) => {
  let world: HiddenWorld;
  const caller = callerTo(way);

  beforeAll(async () => {
    world = await openHiddenWorld();
  });
  afterAll(() => world.branch.close());

  it('is there, and others may be read', async () => {
    const place = { path: hidden.path };
    expect(await world.branch.read(hidden.path)).toMatchObject({ id: hidden.id });
    const query = { type: 'ReadNode', workspace: 'content', place } as const;
    expect(await ask(world, query, caller)).toContain('NODE_NOT_FOUND');
    for (const path of ['/open', '/open/seen', '/open/seen/leaf', '/open/second'])
      expect(await ask(world, { ...query, place: { path } }, caller)).toContain(`"path":"${path}"`);
  });

  it.each(ofKind(querySurfaces, 'node'))(
    'looks like a missing one to %s [ACC-001]',
    async (_, { attempts }) => {
      const [attacks, others] = [attempts(byId, world), attempts(missing, world)] as const;
      for (const [index, attack] of attacks.entries()) {
        const answer = await ask(world, attack, caller);
        expect([attack, answer]).toEqual([attack, await ask(world, others[index] as typeof attack, caller)]);
      }
    },
  );

  it.each(ofKind(commandSurfaces, 'node'))(
    'looks like a missing one to %s [ACC-001]',
    async (_, { attempts }) => {
      const [attacks, others] = [attempts(byId, world), attempts(missing, world)] as const;
      for (const [index, attack] of attacks.entries()) {
        const answer = await send(world, attack, caller);
        expect([attack, answer]).toEqual([attack, await send(world, others[index] as typeof attack, caller)]);
      }
      expect(await world.branch.read(hidden.path)).toMatchObject({ version: 3 });
    },
  );

  it.each(ofKind(querySurfaces, 'whole'))('leaves no trace in %s', async (_, { attempts }) => {
    for (const query of attempts(world)) await expectNoTrace(query);
  });

  it('leaves no trace in reads of other places', async () => {
    for (const query of wholeReads) await expectNoTrace(query);
    const place = { path: '/open/second' };
    const node = await world.branch.query({ type: 'ReadNode', workspace: 'content', place }, caller);
    expect(node).toMatchObject({ has_children: false });
  });

  async function expectNoTrace(query: BranchQuery): Promise<void> {
    const answer = await world.branch.query(query, caller).then(
      (found) => JSON.stringify(found),
      (error: Error) => error.message,
    );
    for (const trace of hidden.traces)
      expect([query, answer]).not.toEqual([query, expect.stringContaining(trace)]);
  }
});

describe('a caller with a role that permits every operation', () => {
  let world: HiddenWorld;
  const caller = callerTo('by its type');

  beforeAll(async () => {
    world = await openHiddenWorld();
  });
  afterAll(() => world.branch.close());

  it.each(ofKind(querySurfaces, 'refused'))('is refused by %s', async (_, { attempt }) => {
    expect(await ask(world, attempt, caller)).toMatch(/"code":"(FORBIDDEN|UNAUTHORIZED)"/);
  });

  it.each(ofKind(commandSurfaces, 'refused'))('is refused by %s', async (_, { attempt }) => {
    expect(await send(world, attempt, caller)).toMatch(/"code":"(FORBIDDEN|UNAUTHORIZED)"/);
  });

  it.each(ofKind(querySurfaces, 'elsewhere'))('is tested elsewhere with %s', (_, { test }) => {
    expect(existsSync(test)).toBe(true);
  });
});
