import type { TextStream } from '#actors/branch/messages.ts';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand, RunDslQuery, RunQuery } from '#actors/branch/messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import {
  administrator,
  type BranchFixture,
  callerWith,
  type NodeObject,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';
import { chunkText } from '#test/support/chunk-text.ts';

interface Answer {
  readonly items: readonly NodeObject[];
  readonly page: JsonObject;
}

type Question = RunQuery | RunDslQuery;

const json = (
  selector: RunQuery['selector'],
  more: Partial<RunQuery> = {},
  workspace = WORKSPACE,
): RunQuery => ({
  type: 'RunQuery',
  workspace,
  selector,
  ...more,
});
const dsl = (filter: JsonObject, workspace = WORKSPACE): RunDslQuery => ({
  type: 'RunDslQuery',
  workspace,
  filter,
});

/** Sees neither what is called `b` nor what is below it. */
const restricted = callerWith((_operation, { path }) => !path.split('/').includes('b'));

async function ask(
  branch: BranchFixture,
  question: Question,
  at?: Revision,
  caller: Caller = administrator,
): Promise<Answer> {
  return (await branch.query(at === undefined ? question : { ...question, at }, caller)) as Answer;
}

describe('a query at an earlier revision', () => {
  let branch: BranchFixture;
  /** What every question answered when a revision was the head. */
  const then: { at: Revision; what: string; answers: Answer[]; restricted: Answer[] }[] = [];
  let questions: readonly Question[];

  beforeAll(async () => {
    const product = (mixins: readonly string[]): JsonObject => ({
      name: 'test:Product',
      mixins,
      properties: [{ name: 'sku', type: 'String', index: ['Property'] }],
    });
    branch = await openBranch({
      nodeTypes: [
        { name: 'test:Priced', is_mixin: true },
        product([]),
        { name: 'test:Note', mixins: ['test:Priced'] },
      ],
    });
    const { id } = await branch.create('/top');
    questions = [
      json({ nodeType: 'test:Product' }),
      json({ nodeType: 'test:Product' }, { limit: 2, offset: 1 }),
      json({ nodeType: 'test:Product' }, { limit: 1, offset: 50 }),
      json({ nodeType: 'svc:Folder' }),
      json({ nodeType: 'test:Nothing' }),
      json({ nodeType: 'no name\0' }),
      json({ parent: id }),
      json({ parent: '/top' }),
      json({ parent: '/moved' }),
      json({ parent: '/' }),
      json({ parent: '/' }, { limit: 2 }),
      json({ parent: '/' }, { limit: 0 }),
      json({ path: '/top/b' }),
      json({ path: '/moved/b/deep' }),
      json({ path: '/' }),
      dsl({}),
      dsl({ limit: 1, offset: 1 }),
      dsl({ order_by: { name: 'desc' } }),
      dsl({ node_type: { eq: 'test:Product' }, 'properties.sku': { eq: 's-1' } }),
      dsl({ node_type: { eq: 'test:Product' } }),
      dsl({ not: { node_type: { eq: 'svc:Folder' } }, order_by: { 'properties.sku': 'desc', path: 'asc' } }),
      dsl({ 'properties.$mixins': { contains: 'test:Priced' } }),
      dsl({ version: { gt: 1 } }),
      dsl({ 'properties.sku': { exists: true }, limit: 2 }),
    ];
    const workspace = WORKSPACE;
    const place = (path: string) => ({ workspace, place: { path } });
    const steps: readonly (readonly [what: string, () => Promise<unknown>])[] = [
      [
        'children that sort around the slash',
        async () => {
          for (const name of ['b', 'b-1', 'b.x', 'a', 'b0'])
            await branch.create(`/top/${name}`, { sku: name }, 'test:Product');
          await branch.create('/top/b/deep', { sku: 's-1' }, 'test:Product');
          await branch.create('/top-1', { sku: 's-1' }, 'test:Product');
          await branch.create('/note', {}, 'test:Note');
        },
      ],
      [
        'changed',
        () => branch.command({ type: 'UpdateNode', ...place('/top-1'), properties: { sku: 's-2' } }),
      ],
      ['moved', () => branch.command({ type: 'MoveNode', ...place('/top'), targetPath: '/moved' })],
      ['a newcomer at the old path', () => branch.create('/top', { sku: 's-1' }, 'test:Product')],
      [
        'reordered',
        () =>
          branch.command({
            type: 'ReorderNode',
            ...place('/note'),
            targetPath: '/top-1',
            position: 'before',
          }),
      ],
      [
        'another type',
        () =>
          branch.command({ type: 'PutDefinition', kind: 'node_type', definition: product(['test:Priced']) }),
      ],
      ['deleted', () => branch.command({ type: 'DeleteNode', ...place('/moved/b') })],
      [
        'published',
        () => branch.command({ type: 'PublishNode', ...place('/moved'), publish: true, tree: true }),
      ],
      ['gone', () => branch.command({ type: 'DeleteNode', ...place('/top-1') })],
      [
        'without its type',
        () => branch.command({ type: 'DeleteDefinition', kind: 'node_type', name: 'test:Note' }),
      ],
    ];
    for (const [what, step] of steps) {
      await step();
      const { head } = (await branch.query({ type: 'ReadBranchState' })) as { head: string };
      const answers: Answer[] = [];
      const seen: Answer[] = [];
      for (const question of questions) {
        answers.push(await ask(branch, question));
        seen.push(await ask(branch, question, undefined, restricted));
      }
      then.push({ at: parseRevision(head), what, answers, restricted: seen });
    }
  });
  afterAll(() => branch.close());

  it('answers what it answered when that revision was the head [REV-029]', async () => {
    expect(new Set(then.map(({ answers }) => JSON.stringify(answers))).size).toBe(then.length);
    for (const { at, what, answers } of then) {
      for (const [index, question] of questions.entries()) {
        expect([what, question, await ask(branch, question, at)]).toEqual([what, question, answers[index]]);
      }
    }
  });

  it('answers a caller with restrictions as it did then, in items and in counts', async () => {
    for (const { at, what, restricted: answers } of then) {
      for (const [index, question] of questions.entries()) {
        const answer = await ask(branch, question, at, restricted);
        expect([what, question, answer]).toEqual([what, question, answers[index]]);
      }
    }
    const [first] = then as [(typeof then)[number]];
    expect(first.restricted).not.toEqual(first.answers);
  });

  it('answers nothing from before the first revision, and the present from after the last', async () => {
    const { answers } = then.at(-1) as (typeof then)[number];
    for (const [index, question] of questions.entries()) {
      const before = await ask(branch, question, { ms: 0, counter: 0 });
      expect([question, before.items, before.page.total]).toEqual([question, [], 0]);
      const after = await ask(branch, question, { ms: 2 ** 47, counter: 0 });
      expect([question, after]).toEqual([question, answers[index]]);
    }
  });

  it('refuses what it refuses at the head', async () => {
    const [{ at }] = then as [(typeof then)[number]];
    for (const question of [
      json({ parent: '/' }, { limit: 1.5 }),
      json({ path: '/a/../b' }),
      dsl({ name: { matches: 'x' } }),
      json({ parent: '/' }, {}, 'nowhere'),
      dsl({}, 'nowhere'),
    ]) {
      const refusal = (await ask(branch, question).catch((error: unknown) => error)) as { code: string };
      expect(['VALIDATION_FAILED', 'WORKSPACE_NOT_FOUND']).toContain(refusal.code);
      await expect(ask(branch, question, at)).rejects.toMatchObject({ code: refusal.code });
    }
  });

  it('streams many nodes of then, in path order, while they are being deleted', async () => {
    const workspace = WORKSPACE;
    const names = Array.from({ length: 2_000 }, (_, index) => `n${String(index).padStart(4, '0')}`);
    await branch.create('/many');
    const operations = names.toReversed().map((name) => {
      return {
        type: 'create',
        parentPath: '/many',
        node: { name, nodeType: 'test:Product', properties: {} },
      } as const;
    });
    const commit = { message: 'many' };
    const { revision } = await branch.command({ type: 'CommitOperations', workspace, commit, operations });
    const at = parseRevision(revision as string);
    const expected = await ask(branch, json({ parent: '/many' }));
    for (const selector of [{ parent: '/many' }, { nodeType: 'test:Product' }]) {
      const answer = branch.ask({ ...json(selector), at }) as TextStream;
      expect(answer).toHaveProperty('chunks');
      let text = '';
      for await (const chunk of answer.chunks) {
        if (text === '')
          await branch
            .command({ type: 'DeleteNode', workspace, place: { path: '/many/n0007' } })
            .catch(() => undefined);
        text += chunkText(chunk);
      }
      const { items } = JSON.parse(text) as Answer;
      const many = items.filter(({ path }) => path.startsWith('/many/'));
      expect(many).toEqual(expected.items);
      expect(items.map(({ path }) => path)).toEqual(items.map(({ path }) => path).sort());
    }
    expect((await ask(branch, json({ parent: '/many' }, { limit: 1, offset: 1_999 }), at)).items).toEqual([
      expected.items.at(-1),
    ]);
  });
});

describe('any writes', () => {
  const names = ['a', 'b', 'c'];
  const path = fc
    .array(fc.constantFrom(...names), { minLength: 1, maxLength: 3 })
    .map((parts) => `/${parts.join('/')}`);
  const nodeType = fc.constantFrom('svc:Folder', 'test:Leaf');
  const write = fc.oneof(
    { weight: 5, arbitrary: fc.tuple(fc.constant('create' as const), path, nodeType) },
    { weight: 3, arbitrary: fc.tuple(fc.constant('move' as const), path, path) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('delete' as const), path, path) },
    { weight: 1, arbitrary: fc.tuple(fc.constant('update' as const), path, path) },
  );

  function commandOf(workspace: string, [kind, at, other]: readonly [string, string, string]): BranchCommand {
    const place = { path: at };
    if (kind === 'move') return { type: 'MoveNode', workspace, place, targetPath: other };
    if (kind === 'delete') return { type: 'DeleteNode', workspace, place };
    if (kind === 'update') return { type: 'UpdateNode', workspace, place, properties: { seen: other } };
    const slash = at.lastIndexOf('/');
    const node = { name: at.slice(slash + 1), nodeType: other, properties: {} };
    return { type: 'CreateNode', workspace, parentPath: at.slice(0, slash) || '/', node, deep: true };
  }

  it('leave every query at every revision before them as it was', async () => {
    const branch = await openBranch({ nodeTypes: [{ name: 'test:Leaf' }] });
    let runs = 0;
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(write, { minLength: 5, maxLength: 25 }), async (writes) => {
          runs += 1;
          const workspace = `run-${runs}`;
          const definition = { allowed_node_types: [], allowed_root_node_types: [] };
          await branch.repositoryCommand({ type: 'PutWorkspace', name: workspace, definition });
          const questions = [
            json({ nodeType: 'test:Leaf' }, {}, workspace),
            json({ nodeType: 'svc:Folder' }, { limit: 3, offset: 1 }, workspace),
            json({ parent: '/a' }, {}, workspace),
            json({ parent: '/' }, {}, workspace),
            json({ path: '/a/b' }, {}, workspace),
            dsl({ node_type: { eq: 'test:Leaf' } }, workspace),
            dsl({ order_by: { version: 'desc' } }, workspace),
          ];
          const answersAt = (at?: Revision) =>
            Promise.all(questions.map((question) => ask(branch, question, at)));
          const seen: { at: Revision; answers: readonly Answer[] }[] = [];
          for (const each of writes) {
            const done = await branch.command(commandOf(workspace, each)).catch(() => undefined);
            if (typeof done?.revision !== 'string') continue;
            seen.push({ at: parseRevision(done.revision), answers: await answersAt() });
          }
          for (const { at, answers } of seen) expect(await answersAt(at)).toEqual(answers);
        }),
        { numRuns: 25 },
      );
    } finally {
      await branch.close();
    }
  });
});
