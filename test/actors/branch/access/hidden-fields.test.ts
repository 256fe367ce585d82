import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand, BranchQuery, NodeWritten } from '#actors/branch/messages.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import {
  type BranchFixture,
  type NodeObject,
  openBranch,
  WORKSPACE as workspace,
} from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { operations, outcomeOf } from './hidden-world.ts';

const definition: JsonObject = {
  name: 'test:Document',
  auditable: true,
  properties: [
    { name: 'title', type: 'String', index: ['Property'], is_translatable: true },
    { name: 'secret', type: 'String', index: ['Property'], is_translatable: true },
    { name: 'code', type: 'String', unique: true },
  ],
  compound_indexes: [],
};

const caller = roleCaller([{ path: '**', operations, except_fields: ['secret', 'code', 'link'] }]);
const whole = roleCaller([{ path: '**', operations }]);

/** Values of the hidden properties of three nodes. */
type Secrets = readonly [string, string, string];

const worlds: readonly Secrets[] = [
  ['apple', 'berry', 'cherry'],
  ['cherry', 'apple', 'dates'],
];

async function open(secrets: Secrets): Promise<BranchFixture> {
  const branch = await openBranch({ nodeTypes: [definition] });
  for (const [index, name] of ['one', 'two', 'three'].entries()) {
    const secret = secrets[index] as string;
    const properties = {
      title: `Title ${name}`,
      secret,
      code: `code of ${secret}`,
      link: { 'svc:ref': secret.startsWith('a') ? 'one' : 'two', 'svc:workspace': workspace },
    };
    const node = { id: name, name, nodeType: 'test:Document', properties };
    const translations = { '/title': `Titel ${name}`, '/secret': `${secret} auf Deutsch` };
    const place = { path: `/${name}` };
    await branch.command({ type: 'CreateNode', workspace, parentPath: '/', node, deep: false }, whole);
    await branch.command({ type: 'CreateVersion', workspace, place }, whole);
    await branch.command(
      { type: 'SetProperty', workspace, place, property: ['secret'], value: secret },
      whole,
    );
    await branch.command({ type: 'TranslateNode', workspace, place, locale: 'de', translations }, whole);
  }
  return branch;
}

const place = { path: '/one' };
const one = { workspace, place };

const filters: readonly JsonObject[] = [
  ...['eq', 'ne', 'like', 'contains', 'gt', 'lte'].map((operator) => ({
    'properties.secret': { [operator]: 'cherry' },
  })),
  { 'properties.secret': { exists: true } },
  { 'properties.secret': { in: ['apple', 'dates'] } },
  { node_type: { eq: 'test:Document' }, 'properties.secret': { eq: 'apple' } },
  { node_type: { eq: 'test:Document' }, order_by: { 'properties.secret': 'asc' }, limit: 2 },
  { order_by: { 'properties.secret': 'desc' } },
  { not: { 'properties.secret.length': { eq: 3 } }, order_by: { 'properties.link': 'asc' } },
];

const queries: readonly BranchQuery[] = [
  { type: 'ReadNode', ...one, tagged: true },
  { type: 'ReadNode', ...one, lang: 'de' },
  { type: 'ReadNode', ...one, fields: ['title', 'secret'] },
  { type: 'ReadNode', ...one, expand: ['link'] },
  { type: 'ReadProperty', ...one, property: ['title'] },
  { type: 'ListChildren', workspace, place: { path: '/' }, scope: 's' },
  { type: 'ListChildren', workspace, place: { path: '/' }, scope: 's', lang: 'de', limit: 10 },
  { type: 'ListIncomingReferences', ...one, scope: 's', limit: 10 },
  { type: 'ReadTree', workspace, place: { path: '/' }, levels: 2, form: 'flat' },
  { type: 'ReadTree', workspace, place: { path: '/' }, levels: 2, form: 'map' },
  { type: 'RunQuery', workspace, selector: { nodeType: 'test:Document' } },
  { type: 'RunQuery', workspace, selector: { path: '/one' } },
  ...filters.map((filter) => ({ type: 'RunDslQuery', workspace, filter }) as const),
  { type: 'ReadHistory', ...one },
  { type: 'ReadAudit', ...one },
  { type: 'ReadVersions', ...one },
  { type: 'ReadVersions', ...one, version: 1 },
  { type: 'ReadRelations', ...one },
  { type: 'ListTranslations', ...one },
  { type: 'ReadStaleness', ...one, locale: 'de' },
  { type: 'ReadStaleness', ...one, locale: 'fr' },
  {
    type: 'ValidateNode',
    workspace,
    node: { name: 'x', nodeType: 'test:Document', properties: { code: 'code of apple' } },
  },
];

describe('properties that are hidden', () => {
  let branches: readonly BranchFixture[];

  beforeAll(async () => {
    branches = await Promise.all(worlds.map(open));
  });
  afterAll(() => Promise.all(branches.map((branch) => branch.close())));

  it.each(queries)('make no difference to $type', async (query) => {
    const [answer, other] = await Promise.all(
      branches.map((branch) => outcomeOf(() => branch.query(query, caller))),
    );
    expect(answer).toBe(other);
    expect(answer).not.toMatch(/apple|berry|cherry|dates/);
    expect(answer).not.toContain('"secret"');
  });

  it('are as absent ones to a read of one property', async () => {
    const [branch] = branches as [BranchFixture];
    const read = (name: string) =>
      outcomeOf(() => branch.query({ type: 'ReadProperty', ...one, property: [name] }, caller));
    expect((await read('secret')).replaceAll('secret', 'nothing')).toBe(await read('nothing'));
  });

  it.each<readonly [string, BranchCommand]>([
    ['a set property', { type: 'SetProperty', ...one, property: ['secret'], value: 'apple' }],
    ['a part of it', { type: 'SetProperty', ...one, property: ['secret', 'part'], value: 'apple' }],
    ['a removed one', { type: 'RemoveProperty', ...one, property: ['secret'] }],
    ['a patch', { type: 'PatchNode', ...one, properties: { secret: 'apple' } }],
    ['a patch that removes it', { type: 'PatchNode', ...one, properties: { secret: null } }],
    ['an update', { type: 'UpdateNode', ...one, properties: { title: 'x', secret: 'apple' } }],
    ['a translation', { type: 'TranslateNode', ...one, locale: 'fr', translations: { '/secret': 'x' } }],
    ['a translation in a patch', { type: 'PatchNode', ...one, translations: { fr: { secret: 'x' } } }],
    [
      'a translation in an update',
      { type: 'UpdateNode', ...one, translations: { fr: { type: 'properties', data: { '/secret': 'x' } } } },
    ],
    ['a confirmation', { type: 'AcknowledgeStaleness', ...one, locale: 'de', pointer: '/secret' }],
    ['a restored version', { type: 'RestoreVersion', ...one, version: 1 }],
    [
      'a commit',
      {
        type: 'CommitOperations',
        workspace,
        commit: { message: 'x' },
        operations: [{ type: 'update', nodeId: 'one', properties: { secret: 'apple' } }],
      },
    ],
    [
      'a new node',
      {
        type: 'CreateNode',
        workspace,
        parentPath: '/',
        node: { name: 'new', nodeType: 'test:Document', properties: { secret: 'apple' } },
        deep: false,
      },
    ],
    [
      'a translation of a new node',
      {
        type: 'CreateNode',
        workspace,
        parentPath: '/',
        node: {
          name: 'new',
          nodeType: 'test:Document',
          properties: {},
          translations: { de: { '/secret': 'apple' } },
        },
        deep: false,
      },
    ],
  ])('are refused in %s, whatever their value is', async (_, command) => {
    for (const branch of branches) {
      const outcome = await outcomeOf(() => branch.command(command, caller));
      expect(outcome).toContain('"code":"PERMISSION_DENIED"');
    }
  });

  it('stay in a node of which the rest is replaced, and are not answered', async () => {
    const [branch] = branches as [BranchFixture];
    const before = await branch.read('/two');
    const shown = (await branch.query(
      { type: 'ReadNode', workspace, place: { path: '/two' } },
      caller,
    )) as NodeObject;
    const { node } = await branch.command(
      {
        type: 'UpdateNode',
        workspace,
        place: { path: '/two' },
        properties: { ...shown.properties, title: 'Changed', more: 1 },
        translations: { de: { title: 'Anders' } },
      },
      caller,
    );
    expect(JSON.parse(node)).toMatchObject({ properties: { title: 'Changed', more: 1 } });
    expect(node).not.toContain('berry');
    const after = await branch.read('/two');
    const { secret, code, link } = before.properties;
    expect(after.properties).toMatchObject({ title: 'Changed', more: 1, secret, code, link } as JsonObject);
    expect(after.translations).toEqual({ de: { title: 'Anders', secret: 'berry auf Deutsch' } });
  });

  it.each<readonly [string, BranchCommand]>([
    [
      'removed',
      {
        type: 'ChangeLocale',
        workspace,
        place: { path: '/two' },
        locale: 'de',
        change: 'delete-translation',
      },
    ],
    [
      'replaced',
      {
        type: 'TranslateNode',
        workspace,
        place: { path: '/two' },
        locale: 'de',
        translations: { '/title': 'Neu' },
      },
    ],
    [
      'removed by a patch',
      { type: 'PatchNode', workspace, place: { path: '/two' }, translations: { de: null } },
    ],
    ['removed by an update', { type: 'UpdateNode', workspace, place: { path: '/two' }, translations: null }],
  ])('keep their translations where the others are %s', async (_, command) => {
    const [branch] = branches as [BranchFixture];
    await branch.command(command, caller);
    const { translations } = await branch.read('/two');
    expect(translations).toMatchObject({ de: { secret: 'berry auf Deutsch' } });
  });

  it('are not copied', async () => {
    const [branch] = branches as [BranchFixture];
    await branch.command(
      { type: 'CopyNode', workspace, place: { path: '/three' }, targetPath: '/copied', tree: true },
      caller,
    );
    const copy = await branch.read('/copied');
    expect(copy.properties).toEqual(expect.objectContaining({ title: 'Title three' }));
    expect(JSON.stringify(copy)).not.toContain('cherry');
  });

  it('are not moved to where they would be shown', async () => {
    const [branch] = branches as [BranchFixture];
    const mover = roleCaller([
      { path: '**', operations, except_fields: ['secret'] },
      { path: '/shown/**', operations },
    ]);
    const create = (path: string, more: JsonObject = {}): Promise<unknown> =>
      branch.create(path, { title: path, ...more }, 'test:Document');
    await create('/shown');
    await create('/source');
    await create('/source/below', { secret: 'apple' });
    const move = { type: 'MoveNode', workspace, place: { path: '/source' } } as const;
    const rename = { type: 'RenameNode', workspace, place: { path: '/source' }, newName: 'other' } as const;
    const moved = await outcomeOf(() => branch.command({ ...move, targetPath: '/shown/source' }, mover));
    expect(moved).toContain('"code":"PERMISSION_DENIED"');
    const renamer = roleCaller([
      { path: '**', operations, except_fields: ['secret'] },
      { path: '/other/**', operations },
    ]);
    const renamed = await outcomeOf(() => branch.command(rename, renamer));
    expect(renamed).toContain('"code":"PERMISSION_DENIED"');
    await branch.command({ ...move, targetPath: '/elsewhere' }, mover);
    expect((await branch.read('/elsewhere/below')).properties).toMatchObject({
      secret: 'apple',
    } as JsonObject);
  });

  it('have entity tags that change with what is shown, and that a write takes', async () => {
    const [branch] = branches as [BranchFixture];
    const narrow = roleCaller([{ path: '**', operations, fields: ['title'] }]);
    const tagOf = async (asking: typeof caller): Promise<string> => {
      const answer = branch.ask({ type: 'ReadNode', ...one, tagged: true }, asking);
      return ((await answer) as { tag: string }).tag;
    };
    const [all, some, few] = await Promise.all([whole, caller, narrow].map(tagOf));
    expect(some).not.toBe(all);
    // Both show the title alone.
    expect(few).toBe(some);
    const expected = { match: [some as string] };
    const written = await branch.command(
      { type: 'PatchNode', ...one, properties: { title: 'Title one' }, expected },
      caller,
    );
    const { tag } = written as NodeWritten;
    expect(tag).toBe(await tagOf(caller));
  });

  it('are not told by the error about a unique value, nor by a validation', async () => {
    const [branch] = branches as [BranchFixture];
    const writer = roleCaller([
      { path: '**', operations: ['create'] },
      { path: '**', operations: ['read'], except_fields: ['code'] },
    ]);
    const node = { name: 'twin', nodeType: 'test:Document', properties: { code: 'code of apple' } };
    const create = { type: 'CreateNode', workspace, parentPath: '/', node, deep: false } as const;
    const told = await outcomeOf(() => branch.command(create, writer));
    expect(told).toContain("Property 'code' must be unique; two nodes have the same value");
    expect(await outcomeOf(() => branch.command(create, whole))).toContain(
      "'/twin' and '/one' have the same value",
    );
    const validate = { type: 'ValidateNode', workspace, node } as const;
    expect(await branch.query(validate, writer)).toMatchObject({ valid: true });
    expect(await branch.query(validate, whole)).toMatchObject({ valid: false });
  });

  it('may be changed only where a permission for it says so', async () => {
    const [branch] = branches as [BranchFixture];
    const writer = roleCaller([
      { path: '**', operations: ['read'] },
      { path: '**', operations: ['update'], fields: ['title'] },
    ] as JsonValue);
    const { properties } = await branch.read('/one');
    const put = (changed: JsonObject): Promise<string> =>
      outcomeOf(() => branch.command({ type: 'UpdateNode', ...one, properties: changed }, writer));
    expect(await put({ ...properties, title: 'Other' })).toContain('"node":');
    expect(await put({ ...properties, secret: 'other' })).toContain('"code":"PERMISSION_DENIED"');
    const { secret: _, ...rest } = properties;
    expect(await put(rest)).toContain('"code":"PERMISSION_DENIED"');
  });
});
