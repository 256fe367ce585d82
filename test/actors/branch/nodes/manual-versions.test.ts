import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { StoredValue } from '#runtime/shard/large-value.ts';
import { wholeInSteps } from '#runtime/shard/value-in-steps.ts';
import {
  decodeManualVersion,
  manualVersions,
  findManualVersion,
  renderManualVersion,
} from '#runtime/tree/manual-version-store.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, type NodeObject, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const failsWith = (code: string) => expect.objectContaining({ code });

describe('manual versions', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({
      nodeTypes: [
        { name: 'test:Fleeting', versionable: false },
        { name: 'test:Strict', strict: true, properties: [{ name: 'a', type: 'String' }] },
        { name: 'test:Fixed', immutable: true },
        { name: 'test:Unique', properties: [{ name: 'code', type: 'String', unique: true }] },
      ],
      archetypes: [{ name: 'test:Hero', fields: [] }],
    });
  });
  afterAll(async () => {
    expect(await branch.inspect(findDamage)).toEqual([]);
    await branch.close();
  });

  const keep = (path: string, note?: string) =>
    branch.command({
      type: 'CreateVersion',
      workspace,
      place: { path },
      ...(note === undefined ? {} : { note }),
    });
  const update = (path: string, properties: JsonObject, more: JsonObject = {}) =>
    branch.command({ type: 'UpdateNode', workspace, place: { path }, properties, ...more });
  const restore = async (path: string, version: number) => {
    const written = await branch.command({ type: 'RestoreVersion', workspace, place: { path }, version });
    return { ...written, node: JSON.parse(written.node) as NodeObject };
  };
  const listed = (id: string) =>
    branch.inspect((reader) =>
      [...manualVersions(reader, workspace, id)].map(
        (version) => JSON.parse(atOnce(renderManualVersion(version, workspace, undefined))) as JsonObject,
      ),
    );

  it('of a large node are kept, read, listed and restored in steps, with any content', async () => {
    const large = {
      text: 'ä"\n'.repeat(300_000),
      list: Array.from({ length: 20_000 }, (_, index) => [index, 0.1]),
    };
    const shown = { ...large, $mixins: [], $supertypes: [] };
    const node = await branch.create('/large', large);
    const place = { path: '/large' };
    await keep('/large', '"}');
    await branch.command({ type: 'PublishNode', workspace, place, publish: true, tree: false });
    const translations = { '/title': 'Titel' };
    await branch.command({ type: 'TranslateNode', workspace, place, locale: 'de', translations });
    await update('/large', { small: 1 });
    const read = (version?: number) =>
      branch.query({ type: 'ReadVersions', workspace, place, ...(version === undefined ? {} : { version }) });
    const first = (await read(1)) as JsonObject;
    expect(first).toMatchObject({ id: `${node.id}:1`, note: '"}' });
    const data = first.node_data as JsonObject;
    expect(data.properties).toEqual(shown);
    const second = (await read(2)) as JsonObject;
    expect(second).toMatchObject({ note: 'pre-publish' });
    expect(await read()).toEqual([second, first]);
    await expect((async () => read(3))()).rejects.toEqual(failsWith('NOT_FOUND'));
    expect((await restore('/large', 2)).node.properties).toEqual(shown);
    expect((await branch.read('/large')).properties).toEqual(shown);
    await branch.inspect((reader) => {
      const stored = atOnce(
        wholeInSteps(reader, findManualVersion(reader, workspace, node.id, 1) as StoredValue),
      );
      const restsOf = <T>(steps: Generator<undefined, T>): { readonly rests: number; readonly value: T } => {
        for (let rests = 0; ; rests += 1) {
          const step = steps.next();
          if (step.done === true) return { rests, value: step.value };
        }
      };
      const { rests, value } = restsOf(decodeManualVersion(stored));
      expect(rests).toBeGreaterThan(stored.length >> 16);
      expect(restsOf(renderManualVersion(value, workspace, undefined)).rests).toBeGreaterThan(
        stored.length >> 18,
      );
      const damaged = Buffer.from(stored);
      damaged[damaged.length - 3] = 0x20;
      expect(() => restsOf(decodeManualVersion(damaged))).toThrow('fails its checksum');
    });
  });

  it('are numbered from 1 and show the state of then [CMD-036]', async () => {
    const node = await branch.create('/doc', { description: 'one' });
    expect(await keep('/doc', 'first')).toEqual({ version: 1, revision: null });
    expect(await branch.read('/doc')).toEqual(node);
    await update('/doc', { description: 'two', more: true });
    expect(await keep('/doc')).toEqual({ version: 2, revision: null });
    expect(await listed(node.id)).toEqual([
      expect.objectContaining({ id: `${node.id}:2`, version: 2, note: null }),
      expect.objectContaining({
        id: `${node.id}:1`,
        node_id: node.id,
        version: 1,
        note: 'first',
        node_data: expect.objectContaining({
          path: '/doc',
          version: 1,
          properties: expect.objectContaining({ description: 'one' }),
        }),
      }),
    ]);
  });

  it('bring back properties, translations and archetype as a new revision [CMD-039]', async () => {
    await branch.create('/back', { description: 'one', size: 1 });
    await update('/back', { description: 'one', size: 1 }, { archetype: 'test:Hero' });
    const translations = { '/description': 'eins' };
    await branch.command({
      type: 'TranslateNode',
      workspace,
      place: { path: '/back' },
      locale: 'de',
      translations,
    });
    await keep('/back');
    await update('/back', { description: 'two', later: 'x' }, { archetype: null, translations: null });
    const { node, revision } = await restore('/back', 1);
    expect(node).toMatchObject({
      properties: { description: 'one', size: 1 },
      archetype: 'test:Hero',
      translations: { de: { description: 'eins' } },
      version: 5,
    });
    expect(node.properties).not.toHaveProperty('later');
    expect(revision).toMatch(/^\d+-\d+$/);
    expect(await branch.read('/back')).toEqual(node);
  });

  it('leave name, place, publication and relations as they are', async () => {
    await branch.create('/place', { description: 'a' });
    await keep('/place');
    await branch.command({ type: 'RenameNode', workspace, place: { path: '/place' }, newName: 'moved' });
    const publish = { type: 'PublishNode', workspace, publish: true, tree: false } as const;
    await branch.command({ ...publish, place: { path: '/moved' } });
    const { node } = await restore('/moved', 1);
    expect(node).toMatchObject({ path: '/moved', published_by: 'ada' });
  });

  it('are not found under a number that was never assigned [CMD-040]', async () => {
    await branch.create('/none');
    for (const version of [0, 1, -1, 1.5, 2 ** 40])
      await expect(restore('/none', version)).rejects.toEqual(failsWith('NOT_FOUND'));
  });

  it('are refused for types that keep none, and notes have a bound [CMD-042]', async () => {
    await branch.create('/fleeting', {}, 'test:Fleeting');
    await expect(keep('/fleeting')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await branch.create('/noted');
    await expect(keep('/noted', 'x'.repeat(10_001))).rejects.toEqual(failsWith('VALIDATION_FAILED'));
  });

  it('must still satisfy the type', async () => {
    const strict = { name: 'test:Strict', strict: true, properties: [{ name: 'b', type: 'String' }] };
    await branch.create('/strict', { a: 'x' }, 'test:Strict');
    await keep('/strict');
    await update('/strict', {});
    await branch.command({ type: 'PutDefinition', kind: 'node_type', definition: strict });
    await expect(restore('/strict', 1)).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    expect(await branch.read('/strict')).toMatchObject({ version: 2 });
  });

  it('do not come back into an immutable node, nor take a unique value from another', async () => {
    await branch.create('/fixed', {}, 'test:Fixed');
    await keep('/fixed');
    await expect(restore('/fixed', 1)).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await branch.create('/u1', { code: 'x' }, 'test:Unique');
    await keep('/u1');
    await update('/u1', { code: 'y' });
    await branch.create('/u2', { code: 'x' }, 'test:Unique');
    await expect(restore('/u1', 1)).rejects.toEqual(failsWith('VALIDATION_FAILED'));
  });

  it('stay when the node is deleted, go on counting, and survive a restart', async () => {
    const node = {
      id: 'own-id',
      name: 'phoenix',
      nodeType: 'svc:Folder',
      properties: { description: 'ash' },
    };
    const create = { type: 'CreateNode', workspace, parentPath: '/', deep: false } as const;
    await branch.command({ ...create, node });
    await keep('/phoenix');
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/phoenix' } });
    await branch.command({
      ...create,
      node: { ...node, nodeType: 'svc:Page', properties: { title: 'new' } },
    });
    await branch.reopen();
    expect(await keep('/phoenix')).toMatchObject({ version: 2 });
    const { node: restored } = await restore('/phoenix', 1);
    expect(restored).toMatchObject({ node_type: 'svc:Folder', properties: { description: 'ash' } });
  });
});
