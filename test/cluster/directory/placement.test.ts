import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type PlacedMember,
  type Placement,
  type PlacementInput,
  placePartitions,
  rendezvousOrder,
} from '#cluster/directory/placement.ts';

const memberIds = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 9 });
const idsOf = (numbers: readonly number[]) => numbers.map((number) => `member-${number}:8080`);
const none: ReadonlySet<number> = new Set();
const steady = (id: string): PlacedMember => ({
  id,
  isDraining: false,
  isSteady: true,
  resting: none,
  warm: none,
});

/** The rules of these tests. */
const rules = { successors: new Map<number, string>(), followers: 2, movesMax: 2 };

/** Any state a cluster may be in: who is there, who owns what, or owned it before it went. */
const state = fc
  .record({
    ids: memberIds.map(idsOf),
    gone: fc.constant(['gone-1', 'gone-2']),
    partitions: fc.constantFrom(1, 8, 32),
    picks: fc.array(fc.nat({ max: 100 }), { minLength: 32, maxLength: 32 }),
    flags: fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 9, maxLength: 9 }),
    isOwned: fc.array(fc.boolean(), { minLength: 32, maxLength: 32 }),
  })
  .map(({ flags, gone, ids, isOwned, partitions, picks }): PlacementInput => {
    const everybody = [...ids, ...gone];
    const owners = new Map<number, string>();
    for (let partition = 0; partition < partitions; partition++) {
      const pick = everybody[(picks[partition] as number) % everybody.length] as string;
      if (isOwned[partition] === true) owners.set(partition, pick);
    }
    const members = ids.map((id, index) => {
      const [isDraining, isSteady] = flags[index] as [boolean, boolean];
      return { id, isDraining: isDraining && index % 3 === 2, isSteady, resting: none, warm: none };
    });
    return { ...rules, partitions, members, owners };
  });

/** Found by chance: all that has to be done at first is to take the one that is vacant. */
const vacancyBesideMuch: PlacementInput = {
  ...rules,
  partitions: 8,
  members: ['member-0:8080', 'member-1:8080'].map((id) => ({
    id,
    isDraining: false,
    isSteady: false,
    resting: none,
    warm: none,
  })),
  owners: new Map([
    ...Array.from({ length: 7 }, (_, each) => [each, 'member-0:8080'] as const),
    [7, 'gone-1'],
  ]),
};

/** What a cluster does with a placement: takes what is vacant, and carries the moves out. */
function carriedOut({ moves, owners }: Placement): Map<number, string> {
  const next = new Map<number, string>();
  for (const [partition, owner] of owners.entries()) if (owner !== undefined) next.set(partition, owner);
  for (const { partition, to } of moves) next.set(partition, to);
  return next;
}

function loadsOf(owners: ReadonlyMap<number, string>, ids: readonly string[]): number[] {
  const loads = new Map(ids.map((id) => [id, 0]));
  for (const owner of owners.values()) loads.set(owner, (loads.get(owner) ?? 0) + 1);
  return [...loads.values()];
}

describe('the placement of partitions', () => {
  it('is the same for every order of the members', () => {
    fc.assert(
      fc.property(state, (input) => {
        const turned = { ...input, members: [...input.members].reverse() };
        expect(placePartitions(turned)).toEqual(placePartitions(input));
      }),
    );
  });

  it('leaves with its owner what is well there, but for a few moves', () => {
    fc.assert(
      fc.property(state, (input) => {
        const { moves, owners } = placePartitions(input);
        const present = new Map(input.members.map((member) => [member.id, member]));
        expect(moves.length).toBeLessThanOrEqual(input.movesMax);
        expect(new Set(moves.map(({ partition }) => partition)).size).toBe(moves.length);
        for (const [partition, owner] of input.owners)
          if (present.has(owner)) expect(owners[partition]).toBe(owner);
        for (const { from, partition, to } of moves) {
          expect(input.owners.get(partition)).toBe(from);
          expect(to).not.toBe(from);
          // Somebody is only asked to take what is well elsewhere when he has been there for a while.
          if (present.get(from)?.isDraining === false) expect(present.get(to)?.isSteady).toBe(true);
          const allDrain = input.members.every(({ isDraining }) => isDraining);
          if (!allDrain) expect(present.get(to)?.isDraining).toBe(false);
        }
      }),
    );
  });

  it('finds an owner for every partition, and other members as followers', () => {
    fc.assert(
      fc.property(state, (input) => {
        const { followers, moves, owners } = placePartitions(input);
        const present = new Set(input.members.map(({ id }) => id));
        const able = input.members.filter(({ isDraining }) => !isDraining);
        for (const [partition, owner] of owners.entries()) {
          expect(present.has(owner as string)).toBe(true);
          const following = followers[partition] as readonly string[];
          expect(new Set([owner, ...following]).size).toBe(following.length + 1);
          const others = able.filter(({ id }) => id !== owner).length;
          expect(following.length).toBe(Math.min(2, others));
          expect(following.every((id) => able.some((member) => member.id === id))).toBe(true);
        }
        for (const { partition, to } of moves) expect(followers[partition]?.[0]).toBe(to);
      }),
    );
  });

  it('gives what a lost member had to its followers, and moves nothing else for it', () => {
    fc.assert(
      fc.property(state, fc.nat(), (input, pick) => {
        const members = input.members.map(({ id }) => steady(id));
        if (members.length < 2) return;
        const before = placePartitions({ ...input, members });
        const owners = carriedOut(before);
        const settled = placePartitions({ ...input, members, owners, movesMax: 0 });
        const lost = (members[pick % members.length] as PlacedMember).id;
        const left = members.filter(({ id }) => id !== lost);
        const after = placePartitions({ ...input, members: left, owners, movesMax: 0 });
        for (const [partition, owner] of owners) {
          if (owner === lost) expect(settled.followers[partition]).toContain(after.owners[partition]);
          else expect(after.owners[partition]).toBe(owner);
        }
      }),
    );
  });

  it('ends balanced, a few moves at a time, and then rests', () => {
    fc.assert(
      fc.property(state, (input) => {
        const members = input.members.map(({ id }) => steady(id));
        const ids = members.map(({ id }) => id);
        let { owners } = input;
        for (let round = 0; ; round++) {
          expect(round).toBeLessThanOrEqual(input.partitions);
          const placement = placePartitions({ ...input, members, owners });
          const next = carriedOut(placement);
          const before = owners;
          // As long as something is vacant nothing else is moved.
          if (next.size === before.size && [...next].every(([each, owner]) => before.get(each) === owner))
            break;
          owners = next;
        }
        const loads = loadsOf(carriedOut(placePartitions({ ...input, members, owners })), ids);
        expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
      }),
      { examples: [[vacancyBesideMuch]] },
    );
  });

  it('gives a joining member its share by as many moves, and no more', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.integer({ min: 50, max: 90 }), (count, number) => {
        const ids = Array.from({ length: count }, (_, index) => `member-${index}`);
        const many = { ...rules, partitions: 32 };
        let owners: ReadonlyMap<number, string> = new Map();
        for (let round = 0; round < 20; round++)
          owners = carriedOut(placePartitions({ ...many, members: ids.map(steady), owners }));
        const grown = [...ids, `member-${number}`];
        let moved = 0;
        for (let round = 0; round < 32; round++) {
          const placement = placePartitions({ ...many, members: grown.map(steady), owners });
          for (const { to } of placement.moves) expect(to).toBe(grown.at(-1));
          moved += placement.moves.length;
          owners = carriedOut(placement);
        }
        expect(moved).toBe(Math.floor(32 / grown.length));
      }),
    );
  });

  it('empties a member that drains, and gives it nothing', () => {
    fc.assert(
      fc.property(state, (input) => {
        const [leaving, ...staying] = input.members.map(({ id }) => steady(id));
        if (leaving === undefined || staying.length === 0) return;
        const members = [{ ...leaving, isDraining: true }, ...staying];
        let { owners } = input;
        for (let round = 0; round < 40; round++) {
          const placement = placePartitions({ ...input, members, owners });
          for (const { to } of placement.moves) expect(to).not.toBe(leaving.id);
          for (const following of placement.followers) expect(following).not.toContain(leaving.id);
          owners = carriedOut(placement);
          if (placement.moves.length === 0) break;
        }
        expect([...owners.values()]).not.toContain(leaving.id);
        expect(owners.size).toBe(input.partitions);
      }),
    );
  });

  it('assigns a released partition to its named successor while that member is present', () => {
    const members = ['a', 'b', 'c', 'd', 'e'].map(steady);
    for (const { id } of members) {
      const input = { ...rules, partitions: 1, members, owners: new Map<number, string>() };
      expect(placePartitions({ ...input, successors: new Map([[0, id]]) }).owners).toEqual([id]);
      expect(placePartitions({ ...input, successors: new Map([[0, 'gone']]) })).toEqual(
        placePartitions(input),
      );
    }
  });

  it('assigns no partition to a member that cannot keep it while another member is present', () => {
    fc.assert(
      fc.property(state, fc.array(fc.nat({ max: 100 }), { maxLength: 20 }), (input, picks) => {
        const sick = input.members[0]?.id;
        const resting = new Set(picks.map((pick) => pick % input.partitions));
        const members = input.members.map((each) => (each.id === sick ? { ...each, resting } : each));
        const successors = new Map([...resting].map((partition) => [partition, sick as string]));
        const { moves, owners } = placePartitions({ ...input, successors, members });
        const others = members.filter(({ id, isDraining }) => id !== sick && !isDraining);
        fc.pre(others.length > 0);
        for (const partition of resting) {
          if (input.owners.get(partition) !== sick) expect(owners[partition]).not.toBe(sick);
          expect(moves).not.toContainEqual(expect.objectContaining({ partition, to: sick }));
        }
      }),
    );
  });

  it('gives what has no owner to a member that follows it closely, before one that would have to load it first', () => {
    fc.assert(
      fc.property(state, fc.array(fc.nat({ max: 8 }), { minLength: 32, maxLength: 32 }), (input, picks) => {
        const { partitions } = input;
        // Of each partition at most one member is ready, and a new one has nothing at all and owns nothing.
        const warmOf = (index: number): ReadonlySet<number> =>
          new Set(picks.flatMap((pick, at) => (at < partitions && pick === index ? [at] : [])));
        const known = input.members.map((each, index) => ({
          ...each,
          isDraining: false,
          warm: warmOf(index),
        }));
        const members = [...known, steady('new')];
        const { owners } = placePartitions({ ...input, members });
        for (let partition = 0; partition < partitions; partition++) {
          const owner = input.owners.get(partition);
          if (members.some(({ id }) => id === owner)) continue;
          const ready = known.find(({ warm }) => warm.has(partition));
          if (ready !== undefined) expect(owners[partition]).toBe(ready.id);
        }
      }),
    );
  });

  it('lets members follow a partition that cannot take it over only where there are no others', () => {
    const ids = ['a', 'b', 'c', 'd'];
    const owners = new Map([[0, 'a']]);
    const unable = (...some: readonly string[]): PlacedMember[] =>
      ids.map((id) => ({ ...steady(id), resting: new Set(some.includes(id) ? [0] : []) }));
    const following = (...some: readonly string[]): readonly string[] | undefined =>
      placePartitions({ ...rules, partitions: 1, members: unable(...some), owners }).followers[0];
    for (const sick of ['b', 'c', 'd']) expect(following(sick)).not.toContain(sick);
    expect(following('b', 'c')).toHaveLength(2);
    expect(following('b', 'c')?.[0]).toBe('d');
  });

  it('has no owner to name without members', () => {
    const nobody = placePartitions({ ...rules, partitions: 2, members: [], owners: new Map([[0, 'x']]) });
    expect(nobody).toEqual({ owners: [undefined, undefined], followers: [[], []], moves: [] });
  });
});

describe('the order of claims', () => {
  it('does not change among the members that remain', () => {
    fc.assert(
      fc.property(fc.nat({ max: 255 }), memberIds, fc.nat(), (partition, numbers, pick) => {
        const ids = idsOf(numbers);
        const lost = ids[pick % ids.length] as string;
        const order = rendezvousOrder(partition, ids);
        expect(
          rendezvousOrder(
            partition,
            ids.filter((id) => id !== lost),
          ),
        ).toEqual(order.filter((id) => id !== lost));
      }),
    );
  });

  it('puts each first about equally often', () => {
    const ids = Array.from({ length: 5 }, (_, index) => `host-${index}:8080`);
    const first = new Map(ids.map((id) => [id, 0]));
    for (let partition = 0; partition < 5_000; partition++) {
      const [best] = rendezvousOrder(partition, ids) as [string];
      first.set(best, (first.get(best) as number) + 1);
    }
    for (const count of first.values()) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });
});
