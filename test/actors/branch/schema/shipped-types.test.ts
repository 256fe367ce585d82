import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BuiltIns } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import { BranchTable, definitionKey } from '#runtime/shard/key-layout.ts';
import { storedDefinition } from '#runtime/tree/schema-store.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, callerWith, openBranch } from '#test/support/branch-fixture.ts';

const forbidden = expect.objectContaining({ code: 'FORBIDDEN' });

type Definition = JsonObject & { readonly properties: readonly JsonObject[]; readonly version: number };

describe('shipped types', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({});
  });
  afterAll(async () => {
    expect(await branch.inspect(findDamage)).toEqual([]);
    await branch.close();
  });

  const read = async (name: string): Promise<Definition> =>
    (await branch.query({ type: 'ReadDefinition', kind: 'node_type', name })) as Definition;
  const put = (definition: JsonObject) =>
    branch.command({ type: 'PutDefinition', kind: 'node_type', definition });
  const remove = (name: string) => branch.command({ type: 'DeleteDefinition', kind: 'node_type', name });
  const builtIns = async (): Promise<BuiltIns> => (await branch.query({ type: 'ReadBuiltIns' })) as BuiltIns;
  const install = (force?: boolean) =>
    branch.command({ type: 'InstallBuiltIns', ...(force === undefined ? {} : { force }) });
  const added = { name: 'site', type: 'String', index: ['Property'] };

  /** The row of `svc:Page` without its first property, as an earlier build let it become. */
  const gutted = () =>
    branch.inspect((reader) => {
      const stored = storedDefinition(reader, 'node_type', 'svc:Page')!;
      const [, ...properties] = stored.definition.properties;
      const value = encodeJsonRow({ ...stored, definition: { ...stored.definition, properties } });
      return { table: BranchTable.definitions, key: definitionKey('node_type', 'svc:Page'), value };
    });

  it('are neither deleted nor reduced [BUILT-017]', async () => {
    await expect(remove('svc:Asset')).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: "'svc:Asset' is a built-in type and cannot be deleted",
    });
    const page = await read('svc:Page');
    await expect(put({ ...page, properties: [] })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      details: { errors: ["property 'content' is missing", "property 'title' is missing"] },
    });
    await expect(put({ name: 'svc:Page', is_mixin: true })).rejects.toEqual(forbidden);
    expect(await read('svc:Page')).toEqual(page);
    expect(await builtIns()).toEqual({ isPending: false, changedTypes: [] });
  });

  it('take what is added to them, and can be put back [BUILT-018]', async () => {
    const folder = await read('svc:Folder');
    const { definition } = await put({ ...folder, properties: [...folder.properties, added] });
    expect(definition).toMatchObject({ version: folder.version + 1 });
    await put({ ...folder, icon: 'box' });
    expect(await read('svc:Folder')).toMatchObject({ icon: 'box', properties: folder.properties });
    await branch.command({ type: 'PublishDefinition', kind: 'node_type', name: 'svc:Folder', publish: true });
    await branch.command({
      type: 'PublishDefinition',
      kind: 'node_type',
      name: 'svc:Folder',
      publish: false,
    });
    expect(await builtIns()).toMatchObject({ changedTypes: [] });
  });

  it('lose nothing through what they are made of [BUILT-017]', async () => {
    const page = await read('svc:Page');
    const mixin = (properties: readonly JsonObject[]) =>
      branch.command({
        type: 'PutDefinition',
        kind: 'mixin',
        definition: { name: 'site:Shared', properties },
      });
    const removeMixin = () =>
      branch.command({ type: 'DeleteDefinition', kind: 'mixin', name: 'site:Shared' });
    const made = await mixin([added]);
    await put({ ...page, mixins: ['site:Shared'] });
    await expect(mixin([added, { name: 'author', type: 'String', required: true }])).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: expect.stringContaining("'svc:Page' is a built-in type"),
      details: { errors: ["the added property 'author' is required"] },
    });
    await expect(removeMixin()).rejects.toMatchObject({
      code: 'FORBIDDEN',
      details: { errors: ["NodeType 'svc:Page' mixes in 'site:Shared', which does not exist"] },
    });
    await expect(
      branch.command({
        type: 'RevertRevisions',
        which: { revisions: [made.revision as string] },
        dryRun: false,
      }),
    ).rejects.toMatchObject({ code: expect.stringMatching(/FORBIDDEN|VALIDATION_FAILED/) });
    await mixin([added, { name: 'author', type: 'String' }]);
    expect(await builtIns()).toMatchObject({ changedTypes: [] });
    await put(page);
    await removeMixin();
  });

  it('lose nothing through a type that they, or their mixins, extend [BUILT-017]', async () => {
    const page = await read('svc:Page');
    const [plain, stricter] = [[added], [added, { name: 'author', type: 'String', required: true }]];
    const base = (properties: readonly JsonObject[]) => put({ name: 'site:Base', properties });
    const mixin = { name: 'site:Shared', extends: 'site:Base' };
    await base(plain);
    await branch.command({ type: 'PutDefinition', kind: 'mixin', definition: mixin });
    for (const made of [{ extends: 'site:Base' }, { mixins: ['site:Shared'] }]) {
      await put({ ...page, ...made });
      await expect(base(stricter)).rejects.toMatchObject({
        code: 'FORBIDDEN',
        details: { errors: ["the added property 'author' is required"] },
      });
      await put(page);
    }
    await base(stricter);
    await branch.command({ type: 'DeleteDefinition', kind: 'mixin', name: 'site:Shared' });
    await remove('site:Base');
  });

  it('that cannot be resolved do not block their repair [BUILT-017]', async () => {
    const page = await read('svc:Page');
    const mixins = ['site:First', 'site:Second'];
    await branch.rewrite([
      await branch.inspect((reader) => {
        const stored = storedDefinition(reader, 'node_type', 'svc:Page')!;
        const value = encodeJsonRow({ ...stored, definition: { ...stored.definition, mixins } });
        return { table: BranchTable.definitions, key: definitionKey('node_type', 'svc:Page'), value };
      }),
    ]);
    for (const name of mixins) {
      await branch.command({ type: 'PutDefinition', kind: 'mixin', definition: { name, properties: [] } });
    }
    expect(await builtIns()).toMatchObject({ changedTypes: [] });
    await put(page);
  });

  it('that lack something of old come back with force, and can lack it until then [BUILT-019]', async () => {
    const [page, asset] = [await read('svc:Page'), await read('svc:Asset')];
    await branch.rewrite([
      await gutted(),
      { table: BranchTable.definitions, key: definitionKey('node_type', 'svc:Asset'), value: null },
    ]);
    expect(await builtIns()).toEqual({ isPending: false, changedTypes: ['svc:Page', 'svc:Asset'] });
    const lacking = await read('svc:Page');
    await put({ ...lacking, icon: 'leaf' });
    await expect(put({ ...lacking, properties: [] })).rejects.toEqual(forbidden);
    await expect(put({ name: 'svc:Asset', properties: [] })).rejects.toEqual(forbidden);
    expect(await install()).toEqual({ revision: null });
    await expect(
      branch.command(
        { type: 'InstallBuiltIns', force: true },
        callerWith(() => true),
      ),
    ).rejects.toEqual(forbidden);
    const { revision } = await install(true);
    expect(revision).not.toBeNull();
    expect((await read('svc:Page')).properties).toEqual(page.properties);
    expect((await read('svc:Asset')).properties).toEqual(asset.properties);
    expect(await builtIns()).toEqual({ isPending: false, changedTypes: [] });
    expect(await install(true)).toEqual({ revision: null });
  });

  it('are not removed or reduced by a revert, which only undoes additions [BUILT-017]', async () => {
    const page = await read('svc:Page');
    const revert = (revision: string | null) =>
      branch.command({ type: 'RevertRevisions', which: { revisions: [revision as string] }, dryRun: false });
    await revert((await put({ ...page, properties: [...page.properties, added] })).revision);
    expect((await read('svc:Page')).properties).toEqual(page.properties);
    await branch.rewrite([await gutted()]);
    await expect(revert((await install(true)).revision)).rejects.toMatchObject({
      code: 'FORBIDDEN',
      details: { errors: ["property 'title' is missing"] },
    });
    expect((await read('svc:Page')).properties).toEqual(page.properties);
  });
});
