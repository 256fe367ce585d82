import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EVENTS_PAGE } from '#actors/branch/history/read-events.ts';
import type { EventsPage } from '#runtime/bus/history-messages.ts';
import { isBranchEvent, type RevisionCommitted } from '#runtime/tree/branch-events.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';

/** What the event of a revision leads to and from. */
type Step = readonly [previous: string, revision: string];

describe('a branch sends its subscribers', () => {
  let family: BranchFamily;
  let made = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });

  afterAll(() => family.close());

  const page = (branch: string, after?: string, caller = callers.engine): Promise<EventsPage> =>
    family.query(branch, { type: 'ReadEventsAfter', ...(after === undefined ? {} : { after }) }, caller);

  /** Every event after a revision, page by page. */
  const eventsAfter = async (branch: string, after: string): Promise<RevisionCommitted[]> => {
    const events: RevisionCommitted[] = [];
    for (;;) {
      const part = await page(branch, events.at(-1)?.revision ?? after);
      expect(part.isContinued).toBe(true);
      events.push(...part.events);
      if (part.isComplete) return events;
      expect(part.events.length).toBeGreaterThan(0);
    }
  };

  /** What was told since some moment, and the events of a branch among it. */
  const told = () => family.fixture.events.filter(isBranchEvent);
  const fork = async () => {
    made += 1;
    const branch = `fork-${made}`;
    await family.fork(branch, 'main');
    return branch;
  };

  it('a write as its revision with everything it changed, after it is durable', async () => {
    const branch = await fork();
    const start = await family.head(branch);
    const seen = told().length;
    const one = await family.create(branch, '/a', 'one', 'id-a');
    const [event] = told().slice(seen);
    expect(event).toMatchObject({
      type: 'RevisionCommitted',
      previous: start,
      revision: one,
      changeCount: 1,
    });
    expect((event as RevisionCommitted).changes).toEqual([
      {
        node_id: 'id-a',
        workspace: WORKSPACE,
        operation: 'added',
        path: '/a',
        node_type: 'svc:Folder',
        details: { kinds: ['created'] },
      },
    ]);
    expect((await page(branch, start)).events).toEqual([event]);
  });

  it('a change of its schema', async () => {
    const branch = await fork();
    const start = await family.head(branch);
    await family.command(branch, {
      type: 'PutDefinition',
      kind: 'node_type',
      definition: { name: 'test:Note', properties: [] },
    });
    const [event] = (await page(branch, start)).events;
    expect(event?.definitions).toEqual([{ kind: 'node_type', name: 'test:Note', operation: 'added' }]);
    expect(event).toEqual(told().at(-1));
  });

  it('the old and the new revision when its head moves', async () => {
    const branch = await fork();
    const one = await family.create(branch, '/a');
    const two = await family.create(branch, '/b');
    await family.command(branch, { type: 'MoveHead', revision: one });
    expect(told().at(-1)).toEqual({ type: 'HeadMoved', previous: two, revision: one });
    expect(await page(branch, two)).toMatchObject({ isContinued: false, head: one, tip: two, events: [] });
    expect(await page(branch, one)).toMatchObject({ isContinued: true, isComplete: true, events: [] });
  });

  it('each revision that a fast-forward takes over', async () => {
    const [target, source] = [await fork(), await fork()];
    const start = await family.head(target);
    const one = await family.create(source, '/a');
    const two = await family.create(source, '/b');
    const seen = told().length;
    const merge = { type: 'MergeBranch', source: family.actor(source), sourceName: source } as const;
    await family.command(target, { ...merge, strategy: 'FastForward', dryRun: false });
    const steps = told()
      .slice(seen)
      .map(({ previous, revision }) => [previous, revision]);
    expect(steps).toEqual([
      [start, one],
      [one, two],
    ]);
    expect(await eventsAfter(target, start)).toEqual(told().slice(seen));
  });

  it('a revision without its changes when it has too many, which are read in parts', async () => {
    const branch = await fork();
    const start = await family.head(branch);
    const operations = Array.from({ length: 1001 }, (_, index) => ({
      type: 'create' as const,
      parentPath: '/',
      node: { name: `n${index}`, nodeType: 'svc:Folder', properties: {} },
    }));
    const commit = { message: 'many' };
    await family.command(branch, { type: 'CommitOperations', workspace: WORKSPACE, operations, commit });
    const [event] = (await page(branch, start)).events;
    expect(event).toMatchObject({ changeCount: 1001, changes: undefined });
    expect(told().at(-1)).toEqual(event);
  });

  it('missed events in pages', async () => {
    const branch = await fork();
    const start = await family.head(branch);
    const revisions: string[] = [];
    for (let index = 0; index < EVENTS_PAGE + 1; index++)
      revisions.push(await family.create(branch, `/n${index}`));
    expect(await page(branch, start)).toMatchObject({ isComplete: false });
    expect((await eventsAfter(branch, start)).map(({ revision }) => revision)).toEqual(revisions);
  });

  it('nothing in response to callers other than the engine', async () => {
    await expect(async () => page('main', undefined, callers.admin)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
  });

  it('for an unknown revision, that no event follows it', async () => {
    expect(await page('main', '7-7')).toMatchObject({ isContinued: false, events: [] });
    expect(await page('main', '999999999999999-0')).toMatchObject({ isContinued: false, events: [] });
  });

  it('the same events from its tables as live, after every revision and every head move', async () => {
    const act = fc.oneof(
      { weight: 4, arbitrary: fc.constant('write' as const) },
      { weight: 2, arbitrary: fc.nat({ max: 9 }) },
      { weight: 1, arbitrary: fc.constant('fork' as const) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 14 }), async (acts) => {
        let branch = await fork();
        const known = [await family.head(branch)];
        const steps: Step[] = [];
        const parentOf = new Map<string, string>();
        for (const [index, each] of acts.entries()) {
          if (each === 'fork') {
            const copy = `${branch}-${index}`;
            await family.fork(copy, branch, known[Math.floor(known.length / 2)]);
            branch = copy;
            steps.length = 0;
            parentOf.clear();
            known.length = 0;
            known.push(await family.head(branch));
            continue;
          }
          const seen = told().length;
          if (each === 'write') known.push(await family.create(branch, `/n${index}`));
          else {
            const revision = known[each % known.length] as string;
            await family.command(branch, { type: 'MoveHead', revision });
          }
          for (const { previous, revision, type } of told().slice(seen)) {
            steps.push([previous, revision]);
            if (type === 'RevisionCommitted') parentOf.set(revision, previous);
          }
        }
        const head = await family.head(branch);
        // Live events lead from place to place without a gap.
        for (const [index, [previous]] of steps.entries())
          if (index > 0) expect(previous).toBe((steps[index - 1] as Step)[1]);
        for (const start of known) {
          const answer = await page(branch, start);
          if (!answer.isContinued) continue;
          const events = await eventsAfter(branch, start);
          const way = [start, ...events.map(({ revision }) => revision)];
          expect(way.at(-1)).toBe(head);
          for (const [index, { previous }] of events.entries()) expect(previous).toBe(way[index]);
        }
        // Every revision on the way back from the head can be continued from.
        for (let at: string | undefined = head; at !== undefined; at = parentOf.get(at))
          expect(await page(branch, at)).toMatchObject({ isContinued: true });
      }),
      { numRuns: 12 },
    );
  });
});
