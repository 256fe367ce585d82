import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { locksActor } from '#actors/locks/locks-actor.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { ReplicaReads } from '#runtime/actor/reads/replica-reads.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { Replica } from '#runtime/commit/replica.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { compareRevisions, parseRevision } from '#runtime/content/revision.ts';
import { Engine, engineUser as caller } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { BRANCH, branchKinds, CONTENT, openTestBranch } from '#test/support/test-branch.ts';
import { chunkText } from '#test/support/chunk-text.ts';

let root: string;
let engine: Engine | undefined;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'replica-reads-'));
});

afterEach(async () => {
  await engine?.close();
  engine = undefined;
  rmSync(root, { recursive: true, force: true });
});

/** A replica over a folder of its own, and what reads from it. */
function follower(kinds: readonly ActorKind[]): { replica: Replica; reads: ReplicaReads } {
  const store = new ActorStore(join(root, 'follower'), kinds, systemClock);
  const replica = new Replica(store, systemClock, () => {});
  const kindOf = (actor: string): ActorKind => store.kindOf(actor);
  return {
    replica,
    reads: new ReplicaReads({ replica, kindOf, clock: systemClock, slices: new SliceScheduler(systemClock) }),
  };
}

/** An answer as text, of whichever form it is. */
async function textOf(answer: unknown): Promise<string> {
  const settled = await answer;
  if (settled instanceof JsonText) return settled.text;
  if (typeof settled !== 'object' || settled === null || !('chunks' in settled))
    return JSON.stringify(settled) ?? '';
  let text = '';
  for await (const chunk of settled.chunks as AsyncIterable<string | Uint8Array>) text += chunkText(chunk);
  return text;
}

const queries = [
  { type: 'ReadBranchState' },
  { type: 'ListChildren', workspace: CONTENT, place: { path: '/' }, scope: BRANCH },
  { type: 'ReadTree', workspace: CONTENT, place: { path: '/' }, levels: 5, form: 'flat' },
  { type: 'RunQuery', workspace: CONTENT, selector: { nodeType: 'test:Article' } },
  { type: 'ListRevisions', limit: 100, offset: 0, includeSystem: true },
  { type: 'ListDefinitions', kind: 'node_type', publishedOnly: false },
  { type: 'ReadNode', workspace: CONTENT, place: { path: '/a' } },
];

/** What every query answers; refusals are answers too. */
async function answersOf(ask: (query: unknown) => unknown): Promise<string[]> {
  const answers: string[] = [];
  for (const query of queries) {
    try {
      answers.push(await textOf(ask(query)));
    } catch (error) {
      answers.push((error as { code: string }).code);
    }
  }
  return answers;
}

describe('reads of a replica', () => {
  it('answer what the owner answered after the same entry, for every query', async () => {
    const branch = await openTestBranch(join(root, 'owner'));
    engine = branch.engine;
    const { host, journal } = engine;
    const place = (path: string) => ({ workspace: CONTENT, place: { path } });
    const steps: (() => Promise<unknown>)[] = [
      () => branch.create('/a'),
      () => branch.create('/a/b', { title: 'b', rank: 1, code: 'one' }),
      () => branch.command({ type: 'UpdateNode', ...place('/a'), properties: { title: 'changed' } }),
      () => branch.command({ type: 'RenameNode', ...place('/a/b'), newName: 'c' }),
      () => branch.create('/z', { title: 'z', rank: 2, code: 'two' }),
      () => branch.command({ type: 'DeleteNode', ...place('/a') }),
      () => branch.create('/a', { title: 'again', code: 'one' }),
    ];
    const expected = new Map<number, string[]>();
    const answered = async (): Promise<void> => {
      expected.set(journal.lastSequence, await answersOf((query) => host.query(BRANCH, query, caller)));
    };
    await answered();
    for (const step of steps) {
      await step();
      await answered();
    }
    expect(expected.size).toBe(steps.length + 1);
    for (const answer of expected.get(journal.lastSequence) ?? []) expect(answer).toMatch(/^[[{]/);
    const { replica, reads } = follower(branchKinds);
    let compared = 0;
    let round = 0;
    for await (const record of journal.read(0)) {
      await replica.take(record);
      round += 1;
      if (round % 3 === 0) await replica.settle();
      const wanted = expected.get(record.sequence);
      if (wanted === undefined) continue;
      compared += 1;
      expect(await answersOf((query) => reads.query(BRANCH, query, caller))).toEqual(wanted);
      const { head } = JSON.parse(wanted[0] as string) as { head: string };
      expect(compareRevisions(reads.clockOf(BRANCH), parseRevision(head))).toBeGreaterThanOrEqual(0);
    }
    expect(compared).toBe(expected.size);
    await reads.close();
    await replica.abandon();
  });

  it('of a long kind show one state while records are applied, and fail when their actor is removed', async () => {
    engine = await Engine.open(join(root, 'owner'), { kinds: [noteActor] });
    const { host, journal } = engine;
    const actor = actorId('acme', 'site~1', 'a', 'notes');
    await host.create(actor);
    await host.command(actor, { type: 'Write', key: 'k', text: 'first' }, { caller });
    const { replica, reads } = follower([noteActor]);
    const follow = async (): Promise<void> => {
      for await (const record of journal.read(0)) await replica.take(record);
    };
    expect(() => reads.query(actor, { type: 'Read', key: 'k' }, caller)).toThrowError(
      expect.objectContaining({ code: 'NOT_FOUND' }),
    );
    await follow();
    let open: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const long = reads.query(actor, { type: 'ReadAll', until: gate }, caller);
    await host.command(actor, { type: 'Write', key: 'k', text: 'second' }, { caller });
    await follow();
    await replica.settle();
    expect(reads.query(actor, { type: 'Read', key: 'k' }, caller)).toBe('second');
    open();
    expect(await long).toEqual({ k: 'first' });
    let openAgain: () => void = () => {};
    const again = new Promise<void>((resolve) => {
      openAgain = resolve;
    });
    const cut = reads.query(actor, { type: 'ReadAll', until: again }, caller);
    await host.destroyUnder('acme/site~1');
    await follow();
    openAgain();
    await expect(cut).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect(() => reads.query(actor, { type: 'Read', key: 'k' }, caller)).toThrowError(
      expect.objectContaining({ code: 'NOT_FOUND' }),
    );
    await reads.close();
    await replica.abandon();
  });

  it('end before their replica is released: pending ones are awaited, new ones refused', async () => {
    engine = await Engine.open(join(root, 'owner'), { kinds: [noteActor] });
    const { host, journal } = engine;
    const actor = actorId('acme', 'site~1', 'a', 'notes');
    await host.create(actor);
    await host.command(actor, { type: 'Write', key: 'k', text: 'kept' }, { caller });
    const { replica, reads } = follower([noteActor]);
    for await (const record of journal.read(0)) await replica.take(record);
    let open: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const long = reads.query(actor, { type: 'ReadAll', until: gate }, caller);
    const closed = reads.close().then(() => replica.abandon());
    expect(() => reads.query(actor, { type: 'Read', key: 'k' }, caller)).toThrowError(
      expect.objectContaining({ code: 'SHUTTING_DOWN' }),
    );
    open();
    expect(await long).toEqual({ k: 'kept' });
    await closed;
  });

  it('leave to the owner what only it can know, and carry out no command', async () => {
    const { replica, reads } = follower([locksActor, noteActor]);
    const locks = actorId('acme', 'site~1', 'main~1', 'locks');
    expect(() => reads.query(locks, { type: 'ListLocks', limit: 10 }, caller)).toThrowError(
      expect.objectContaining({ code: 'NOT_OWNER' }),
    );
    await reads.close();
    await replica.abandon();
  });
});
