import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { callers } from '#test/support/host-fixture.ts';

/** One member: what messages are sent through there, and what makes and removes actors. */
export interface RoutingMember {
  readonly router: Router;
  readonly lifecycle: ActorLifecycle;
}

/** What the suite runs against: members that serve actors of the kind `notes` together. */
export interface RoutersUnderTest {
  readonly members: readonly RoutingMember[];
  close(): Promise<void>;
}

const caller: Caller = callers.engine;

/** Longer than one frame of an answer, and than one message of a server. */
const LARGE_TEXT_LENGTH = 3_000_000;

/** What every implementation of the `Router` promises, with the `ActorLifecycle` that belongs to it. */
export function routerConformance(title: string, open: () => Promise<RoutersUnderTest>): void {
  describe(`the router: ${title}`, () => {
    let world: RoutersUnderTest;
    let repositories = 0;

    beforeAll(async () => {
      world = await open();
    });

    afterAll(() => world.close());

    /** A repository nobody has used, and of different partitions each time. */
    const newRepository = (): string => {
      repositories += 1;
      return `site${repositories}~1`;
    };
    const notesOf = (repository: string, branch = 'main~1'): string =>
      actorId('default', repository, branch, 'notes');
    /** Does something through each member in turn. */
    const throughAll = async <T>(
      use: (member: RoutingMember, index: number) => Promise<T> | T,
    ): Promise<T[]> => {
      const found: T[] = [];
      for (const [index, member] of world.members.entries()) found.push(await use(member, index));
      return found;
    };
    const first = (): RoutingMember => world.members[0] as RoutingMember;
    const write = ({ router }: RoutingMember, actor: string, key: string, text = key): Promise<unknown> =>
      router.command(actor, { type: 'Write', key, text }, { caller });
    const read = async ({ router }: RoutingMember, actor: string, key: string): Promise<unknown> =>
      router.query(actor, { type: 'Read', key }, caller);

    it('shows on every member what was written through any, as soon as it is acknowledged', async () => {
      const actor = notesOf(newRepository());
      await first().lifecycle.create(actor);
      const revisions = await throughAll((member, index) => write(member, actor, `k${index}`));
      expect(new Set(revisions).size).toBe(world.members.length);
      expect([...(revisions as string[])].sort()).toEqual(revisions);
      await throughAll(async (member) => {
        for (const index of world.members.keys())
          expect(await read(member, actor, `k${index}`)).toBe(`k${index}`);
      });
    });

    it('knows no actor that was never created, and creates none for a query', async () => {
      const repository = newRepository();
      const actor = notesOf(repository);
      await throughAll(async (member) => {
        await expect(write(member, actor, 'k')).rejects.toMatchObject({ code: 'NOT_FOUND' });
        await expect(read(member, actor, 'k')).rejects.toMatchObject({ code: 'NOT_FOUND' });
        expect(await member.lifecycle.exists(actor)).toBe(false);
        expect(await member.lifecycle.namesUnder(`default/${repository}`)).toEqual([]);
      });
    });

    it('returns errors as the actor throws them, and keeps nothing of what the command had written', async () => {
      const actor = notesOf(newRepository());
      await first().lifecycle.create(actor);
      await throughAll(async (member) => {
        const failing = member.router.command(actor, { type: 'Fail', key: 'k', text: 'never' }, { caller });
        await expect(failing).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
        expect(await read(member, actor, 'k')).toBeUndefined();
      });
    });

    it('applies a request with a key once, through any member', async () => {
      const actor = notesOf(newRepository());
      await first().lifecycle.create(actor);
      const idempotency = { key: 'once', requestHash: 'h' };
      const revisions = await throughAll(({ router }, index) =>
        router.command(actor, { type: 'Write', key: 'k', text: `by ${index}` }, { caller, idempotency }),
      );
      expect(new Set(revisions).size).toBe(1);
      expect(await read(first(), actor, 'k')).toBe('by 0');
      const other = { key: 'once', requestHash: 'another' };
      await throughAll(async ({ router }) => {
        const mistaken = router.command(
          actor,
          { type: 'Write', key: 'k', text: 'x' },
          { caller, idempotency: other },
        );
        await expect(mistaken).rejects.toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' });
      });
    });

    it('keeps the order in which one member sends', async () => {
      const actor = notesOf(newRepository());
      await first().lifecycle.create(actor);
      await throughAll(async (member) => {
        const sent = Array.from({ length: 40 }, (_, number) => write(member, actor, 'k', String(number)));
        const revisions = (await Promise.all(sent)) as string[];
        const numbers = revisions.map((revision) => revision.split('-').map(Number) as [number, number]);
        for (const [at, [ms, counter]] of numbers.entries()) {
          const [beforeMs, before] = numbers[at - 1] ?? [0, 0];
          expect(ms > beforeMs || (ms === beforeMs && counter > before)).toBe(true);
        }
        expect(await read(member, actor, 'k')).toBe('39');
      });
    });

    it('returns delayed answers, and large ones completely', async () => {
      const actor = notesOf(newRepository());
      await first().lifecycle.create(actor);
      const text = 'ä'.repeat(LARGE_TEXT_LENGTH);
      await write(first(), actor, 'large', text);
      await throughAll(async (member) => {
        const all = (await member.router.query(actor, { type: 'ReadAll' }, caller)) as Record<string, string>;
        expect(all.large === text).toBe(true);
      });
    });

    it('does not begin a request whose caller no longer waits', async () => {
      const actor = notesOf(newRepository());
      await first().lifecycle.create(actor);
      await throughAll(async (member, index) => {
        const late = { ...caller, deadlineMs: systemClock.monotonicMs() - 1 };
        const command = { type: 'Write', key: `late${index}`, text: 'x' };
        await expect(member.router.command(actor, command, { caller: late })).rejects.toMatchObject({
          code: expect.stringMatching(/DEADLINE_EXCEEDED|NOT_OWNER/),
        });
        expect(await read(member, actor, `late${index}`)).toBeUndefined();
      });
    });

    it('makes an actor once, however often and by whomever it is made', async () => {
      const repository = newRepository();
      const actor = notesOf(repository);
      await Promise.all(world.members.map(({ lifecycle }) => lifecycle.create(actor)));
      await write(first(), actor, 'k');
      await throughAll(({ lifecycle }) => lifecycle.create(actor));
      await throughAll(async (member) => {
        expect(await read(member, actor, 'k')).toBe('k');
        expect(await member.lifecycle.exists(actor)).toBe(true);
        expect(await member.lifecycle.namesUnder(`default/${repository}`)).toEqual(['main~1']);
      });
    });

    it('forks an actor with its content; from then on both change independently', async () => {
      const repository = newRepository();
      await throughAll(async (member, index) => {
        const source = notesOf(repository, `from${index}~1`);
        const target = notesOf(repository, `to${index}~1`);
        await member.lifecycle.create(source);
        await write(member, source, 'both');
        await member.lifecycle.fork(source, target);
        await write(member, source, 'source');
        await write(member, target, 'target');
        const all = await throughAll(
          async (reader) => (await reader.router.query(target, { type: 'ReadAll' }, caller)) as object,
        );
        for (const notes of all) expect(notes).toEqual({ both: 'both', target: 'target' });
        await expect(member.lifecycle.fork(source, target)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
        const missing = notesOf(repository, 'missing~1');
        const copy = notesOf(repository, 'copy~1');
        await expect(member.lifecycle.fork(missing, copy)).rejects.toMatchObject({ code: 'NOT_FOUND' });
      });
    });

    it('removes everything under an owner, for every caller, and what is recreated is empty', async () => {
      const repository = newRepository();
      await throughAll(async (member) => {
        const actors = ['a~1', 'b~1'].map((branch) => notesOf(repository, branch));
        for (const actor of actors) {
          await member.lifecycle.create(actor);
          await write(member, actor, 'k');
        }
        await member.lifecycle.destroyUnder(`default/${repository}`);
        await member.lifecycle.destroyUnder(`default/${repository}`);
        await throughAll(async (other) => {
          for (const actor of actors)
            await expect(read(other, actor, 'k')).rejects.toMatchObject({ code: 'NOT_FOUND' });
        });
        await member.lifecycle.create(actors[0] as string);
        expect(await read(member, actors[0] as string, 'k')).toBeUndefined();
      });
    });
  });
}
