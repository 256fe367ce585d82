import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand, BranchQuery } from '#actors/branch/messages.ts';
import type { NodePlace } from '#actors/branch/read-messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import {
  administrator,
  type BranchFixture,
  callerWith,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;

describe('a node that may not be seen', () => {
  let branch: BranchFixture;
  let secret: string;
  let hidden: string;
  const caller = callerWith((_operation, { path }) => !path.startsWith('/secret'));

  beforeAll(async () => {
    branch = await openBranch();
    await branch.create('/secret');
    secret = (await branch.create('/secret/plan', { title: 'T' })).id;
    hidden = (await branch.create('/hidden', { title: 'T' })).id;
    await branch.create('/open');
    const place = { path: '/hidden' };
    await branch.command({ type: 'ChangeLocale', workspace, place, locale: 'de', change: 'hide' });
  });
  afterAll(() => branch.close());

  const queriesOf = (place: NodePlace): readonly BranchQuery[] => [
    { type: 'ReadNode', workspace, place },
    { type: 'ReadNode', workspace, place, lang: 'de' },
    { type: 'ReadNode', workspace, place, at: parseRevision('99999999999999-0') },
    { type: 'ReadProperty', workspace, place, property: ['title'] },
    { type: 'ListChildren', workspace, place, scope: 'here' },
    { type: 'ReadTree', workspace, place, levels: 2, form: 'map' },
    { type: 'ReadHistory', workspace, place },
    { type: 'ReadAudit', workspace, place },
    { type: 'ReadVersions', workspace, place },
    { type: 'ReadRelations', workspace, place },
    { type: 'ListTranslations', workspace, place },
    { type: 'ReadStaleness', workspace, place, locale: 'de' },
  ];

  const commandsOf = (place: NodePlace): readonly BranchCommand[] => [
    { type: 'UpdateNode', workspace, place, properties: {} },
    { type: 'SetProperty', workspace, place, property: ['title'], value: 1 },
    { type: 'DeleteNode', workspace, place },
    { type: 'RenameNode', workspace, place, newName: 'other' },
    { type: 'MoveNode', workspace, place, targetPath: '/open/other' },
    { type: 'CopyNode', workspace, place, targetPath: '/open/other', tree: true },
    { type: 'ReorderNode', workspace, place, targetPath: '/open', position: 'after' },
    { type: 'PublishNode', workspace, place, publish: true, tree: true },
    { type: 'CreateVersion', workspace, place },
    { type: 'RestoreVersion', workspace, place, version: 1 },
    { type: 'TranslateNode', workspace, place, locale: 'de', translations: { '/title': 'D' } },
    { type: 'ChangeLocale', workspace, place, locale: 'de', change: 'hide' },
    {
      type: 'AddRelation',
      workspace,
      place,
      targetWorkspace: workspace,
      targetPath: '/open',
      relationType: 'cites',
      weight: null,
    },
  ];

  /** The whole answer, with the name the caller gave the node taken out. */
  async function refusal(send: () => unknown, named: string): Promise<string> {
    const error = await Promise.resolve()
      .then(send)
      .then(
        () => undefined,
        (cause: ServiceError) => cause,
      );
    return JSON.stringify([error?.code, error?.message, error?.field, error?.details]).replaceAll(named, '…');
  }

  const cases: readonly (readonly [what: string, there: () => NodePlace, missing: NodePlace])[] = [
    ['by id', () => ({ id: secret }), { id: 'never' }],
    ['by path', () => ({ path: '/secret/plan' }), { path: '/secret/none' }],
  ];

  it.each(cases)(
    'is refused in the same way as a missing one, %s, for every query',
    async (_what, there, missing) => {
      const nameOf = (place: NodePlace) => Object.values(place)[0] as string;
      const found = there();
      for (const [index, query] of queriesOf(found).entries()) {
        const other = queriesOf(missing)[index] as BranchQuery;
        const expected = await refusal(() => branch.query(other, caller), nameOf(missing));
        expect([query.type, expected]).toEqual([query.type, expect.stringContaining('NODE_NOT_FOUND')]);
        expect([query.type, await refusal(() => branch.query(query, caller), nameOf(found))]).toEqual([
          query.type,
          expected,
        ]);
      }
      for (const [index, command] of commandsOf(found).entries()) {
        const other = commandsOf(missing)[index] as BranchCommand;
        const expected = await refusal(() => branch.command(other, caller), nameOf(missing));
        expect([command.type, expected]).toEqual([command.type, expect.stringContaining('NODE_NOT_FOUND')]);
        expect([command.type, await refusal(() => branch.command(command, caller), nameOf(found))]).toEqual([
          command.type,
          expected,
        ]);
      }
    },
  );

  it('is refused as a missing one is where its locale hides it', async () => {
    const ask =
      (place: NodePlace, as: Caller = administrator) =>
      (query: 'node' | 'property' | 'children') => {
        const read = { workspace, place, lang: 'de' };
        if (query === 'node') return branch.query({ type: 'ReadNode', ...read }, as);
        return query === 'property'
          ? branch.query({ type: 'ReadProperty', ...read, property: ['title'] }, as)
          : branch.query({ type: 'ListChildren', ...read, scope: 'here' }, as);
      };
    for (const query of ['node', 'property', 'children'] as const) {
      const byId = await refusal(() => ask({ id: hidden })(query), hidden);
      expect(byId).toBe(await refusal(() => ask({ id: 'never' })(query), 'never'));
      const byPath = await refusal(() => ask({ path: '/hidden' })(query), '/hidden');
      expect(byPath).toBe(await refusal(() => ask({ path: '/never' })(query), '/never'));
    }
  });
});
