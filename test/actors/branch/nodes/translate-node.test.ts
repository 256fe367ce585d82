import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { readChanges, readRevision } from '#runtime/tree/revision-store.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import {
  type BranchFixture,
  callerWith,
  type NodeObject,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const failsWith = (code: string) => expect.objectContaining({ code });

describe('translating nodes', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({
      nodeTypes: [
        { name: 'test:Fixed', immutable: true },
        {
          name: 'test:Text',
          properties: [
            { name: 'title', type: 'String' },
            { name: 'sku', type: 'String', is_translatable: false },
          ],
        },
        {
          name: 'test:Strict',
          strict: true,
          properties: [
            { name: 'title', type: 'String' },
            { name: 'n', type: 'Number' },
          ],
        },
      ],
    });
  });
  afterAll(async () => {
    expect(await branch.inspect(findDamage)).toEqual([]);
    await branch.close();
  });

  const translate = (path: string, translations: JsonObject, locale = 'de') =>
    branch.command({ type: 'TranslateNode', workspace, place: { path }, locale, translations });
  const change = (path: string, what: 'delete-translation' | 'hide' | 'unhide', locale = 'de') =>
    branch.command({ type: 'ChangeLocale', workspace, place: { path }, locale, change: what });
  const shown = async (path: string, lang: string) => {
    const node = (await branch.query({ type: 'ReadNode', workspace, place: { path }, lang })) as NodeObject;
    const { $supertypes, $mixins, ...properties } = node.properties;
    return properties;
  };

  it('shows the translated values in the locale and the base without it [TRANS-003]', async () => {
    const node = await branch.create('/home', { title: 'Home', body: { text: 'Hello' } });
    const answer = await translate('/home', { '/title': 'Start', '/body/text': 'Hallo' }, 'DE');
    expect(answer).toEqual({
      node_id: node.id,
      locale: 'de',
      revision: expect.stringMatching(/^\d+-\d+$/),
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(await shown('/home', 'de')).toEqual({ title: 'Start', body: { text: 'Hallo' } });
    expect(await branch.read('/home')).toMatchObject({
      properties: { title: 'Home', body: { text: 'Hello' } },
      translations: { de: { title: 'Start', '/body/text': 'Hallo' } },
      version: 2,
    });
  });

  it('replaces the overlay of the locale and leaves the others [TRANS-007]', async () => {
    await branch.create('/replace', { title: 'a', text: 'b' });
    await translate('/replace', { '/title': 'A', '/text': 'B' });
    await translate('/replace', { '/title': 'F' }, 'fr');
    await translate('/replace', { '/title': 'AA' });
    expect(await shown('/replace', 'de')).toEqual({ title: 'AA', text: 'b' });
    expect(await shown('/replace', 'fr')).toEqual({ title: 'F', text: 'b' });
  });

  it('refuses an empty map, a bad locale, a bad pointer [TRANS-004]', async () => {
    await branch.create('/bad', { title: 'a' });
    const refused = failsWith('VALIDATION_FAILED');
    await expect(translate('/bad', {})).rejects.toEqual(refused);
    for (const locale of ['', 'd', 'german', 'de_DE', 'de-'])
      await expect(translate('/bad', { '/title': 'x' }, locale)).rejects.toEqual(refused);
    for (const pointer of ['title', '', '/', '/title/x', '/none/x', '/~2', '/slug'])
      await expect(translate('/bad', { [pointer]: 'x' })).rejects.toEqual(refused);
    expect(await branch.read('/bad')).toMatchObject({ version: 1, translations: null });
  });

  it('refuses values that the type declares not translatable', async () => {
    await branch.create('/typed', { title: 'a', sku: '1' }, 'test:Text');
    await expect(translate('/typed', { '/sku': '2' })).rejects.toEqual(failsWith('VALIDATION_FAILED'));
  });

  it('refuses values the type of the node does not allow, all of them at once [TRANS-028]', async () => {
    await branch.create('/strict', { title: 'a', n: 1 }, 'test:Strict');
    const bad = { '/title': { evil: [1] }, '/n': 'not a number', '/undeclared': 1 };
    await expect(translate('/strict', bad)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      field: 'translations',
      details: {
        errors: [
          "Translation to 'de': Property 'title' must be a string",
          "Translation to 'de': Property 'n' must be a number",
          "Translation to 'de': Undefined property 'undeclared' in strict mode for NodeType 'test:Strict'",
        ],
      },
    });
    await translate('/strict', { '/title': 'A', '/n': 2 });
    expect(await shown('/strict', 'de')).toEqual({ title: 'A', n: 2 });
    const update = { type: 'UpdateNode', workspace, place: { path: '/strict' } } as const;
    const properties = { title: 'a', n: 1 };
    await expect(
      branch.command({ ...update, properties, translations: { de: { n: 'x' } } }),
    ).rejects.toMatchObject({ code: 'VALIDATION_FAILED', field: 'translations' });
    await expect(
      branch.command({
        type: 'CreateNode',
        workspace,
        parentPath: '/',
        node: { name: 'new', nodeType: 'test:Strict', properties, translations: { de: { n: 'x' } } },
        deep: false,
      }),
    ).rejects.toMatchObject({ code: 'VALIDATION_FAILED', field: 'translations' });
  });

  it('writes no locale that the repository does not support, and removes any [TRANS-029]', async () => {
    await branch.create('/spoken', { title: 'a' });
    const refused = expect.objectContaining({ code: 'VALIDATION_FAILED', field: 'locale' });
    await expect(translate('/spoken', { '/title': 'c' }, 'sw-KE')).rejects.toEqual(refused);
    await expect(change('/spoken', 'hide', 'sw-KE')).rejects.toEqual(refused);
    expect(await change('/spoken', 'unhide', 'sw-KE')).toMatchObject({ revision: null });
    expect(await change('/spoken', 'delete-translation', 'sw-KE')).toMatchObject({ revision: null });
  });

  it('keeps and shows what was stored before the rules of today, and copies and restores it', async () => {
    const type = (properties: readonly object[]) =>
      branch.command({
        type: 'PutDefinition',
        kind: 'node_type',
        definition: { name: 'test:Later', strict: true, properties },
      });
    await type([
      { name: 'title', type: 'String' },
      { name: 'n', type: 'Object' },
    ]);
    await branch.create('/older', { title: 'a' }, 'test:Later');
    await translate('/older', { '/title': 'A', '/n': { free: true } });
    await branch.command({ type: 'CreateVersion', workspace, place: { path: '/older' } });
    await type([
      { name: 'title', type: 'String' },
      { name: 'n', type: 'Number' },
    ]);
    expect(await shown('/older', 'de')).toEqual({ title: 'A', n: { free: true } });
    const place = { path: '/older' };
    const { properties, translations } = await branch.read('/older');
    const update = { type: 'UpdateNode', workspace, place } as const;
    await branch.command({ ...update, properties: { ...properties, title: 'b' }, translations });
    const copy = { type: 'CopyNode', workspace, place, targetPath: '/copied', tree: false } as const;
    await branch.command(copy);
    expect(await shown('/copied', 'de')).toEqual({ title: 'A', n: { free: true } });
    await branch.command({ type: 'RestoreVersion', workspace, place, version: 1 });
    expect(await branch.read('/older')).toMatchObject({ translations });
    await expect(translate('/older', { '/n': { free: false } })).rejects.toEqual(
      failsWith('VALIDATION_FAILED'),
    );
  });

  it('hides a node in a locale and shows it again with its translation [TRANS-005]', async () => {
    await branch.create('/hide', { title: 'a' });
    await translate('/hide', { '/title': 'A' });
    expect(await change('/hide', 'hide')).toMatchObject({ locale: 'de', revision: expect.any(String) });
    await expect(shown('/hide', 'de')).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
    expect(await shown('/hide', 'fr')).toEqual({ title: 'a' });
    expect(await branch.read('/hide')).toMatchObject({ translations: { de: { type: 'hidden' } } });
    await change('/hide', 'hide');
    await change('/hide', 'unhide');
    expect(await shown('/hide', 'de')).toEqual({ title: 'A' });
    expect(await change('/hide', 'unhide')).toMatchObject({ revision: null });
  });

  it('keeps what is hidden over a write that hands the translations back as they were read', async () => {
    await branch.create('/kept', { title: 'a' });
    await translate('/kept', { '/title': 'A' });
    await change('/kept', 'hide');
    const { properties, translations } = await branch.read('/kept');
    await branch.command({
      type: 'UpdateNode',
      workspace,
      place: { path: '/kept' },
      properties,
      translations,
    });
    await expect(shown('/kept', 'de')).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
    await change('/kept', 'unhide');
    expect(await shown('/kept', 'de')).toEqual({ title: 'A' });
  });

  it('removes a translation; the base value shows again [TRANS-006]', async () => {
    await branch.create('/remove', { title: 'a' });
    expect(await change('/remove', 'delete-translation')).toMatchObject({ revision: null });
    await translate('/remove', { '/title': 'A' });
    await change('/remove', 'delete-translation');
    expect(await shown('/remove', 'de')).toEqual({ title: 'a' });
    expect(await branch.read('/remove')).toMatchObject({ translations: null, version: 3 });
  });

  it('is a modified change of its locale, with message and actor of its own [REV-018] [TRANS-020]', async () => {
    await branch.create('/change', { title: 'a' });
    const { revision } = await branch.command({
      type: 'TranslateNode',
      workspace,
      place: { path: '/change' },
      locale: 'de',
      translations: { '/title': 'A' },
      commit: { message: 'German', actor: 'grete' },
    });
    const { record, changes } = await branch.inspect((reader) => {
      const found = readRevision(reader, parseRevision(revision as string));
      return { record: found, changes: found === undefined ? [] : readChanges(reader, found) };
    });
    expect(record).toMatchObject({ message: 'German', actor: 'grete' });
    expect(changes).toEqual([
      expect.objectContaining({ operation: 'modified', path: '/change', translation_locale: 'de' }),
    ]);
  });

  it('shows the translations of a revision at that revision [TRANS-002] [REV-032]', async () => {
    await branch.create('/then', { title: 'a' });
    const first = await translate('/then', { '/title': 'A' });
    await translate('/then', { '/title': 'AA' });
    await change('/then', 'delete-translation');
    const at = parseRevision(first.revision as string);
    expect(await branch.read('/then', at)).toMatchObject({ translations: { de: { title: 'A' } } });
  });

  it('accepts a changed source once a caller confirms it [TRANS-019]', async () => {
    await branch.create('/stale', { title: 'a', text: 'b' });
    await translate('/stale', { '/title': 'A' });
    const place = { path: '/stale' };
    await branch.command({
      type: 'UpdateNode',
      workspace,
      place,
      properties: { title: 'changed', text: 'b' },
    });
    const acknowledge = (pointer: string, locale = 'de') =>
      branch.command({ type: 'AcknowledgeStaleness', workspace, place, pointer, locale });
    const before = await branch.read('/stale');
    const origin = () =>
      branch.inspect(
        (reader) =>
          atOnce(new HeadNodeReader(reader).byPathInSteps(workspace, '/stale'))?.header.translations,
      );
    const stale = await origin();
    await acknowledge('/title');
    expect(await origin()).not.toEqual(stale);
    expect(await branch.read('/stale')).toMatchObject({
      version: before.version + 1,
      translations: before.translations,
    });
    await expect(acknowledge('/text')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await expect(acknowledge('/title', 'fr')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
  });

  it('keeps the hash of what was translated over updates of the properties', async () => {
    await branch.create('/origin', { title: 'a' });
    await translate('/origin', { '/title': 'A' });
    const stored = () =>
      branch.inspect(
        (reader) =>
          atOnce(new HeadNodeReader(reader).byPathInSteps(workspace, '/origin'))?.header.translations,
      );
    const first = await stored();
    const { translations } = await branch.read('/origin');
    const properties = { title: 'b' };
    await branch.command({
      type: 'UpdateNode',
      workspace,
      place: { path: '/origin' },
      properties,
      translations,
    });
    expect(await stored()).toEqual(first);
  });

  it('refuses immutable nodes and callers without permission to translate', async () => {
    await branch.create('/fixed', { title: 'a' }, 'test:Fixed');
    await expect(translate('/fixed', { '/title': 'x' })).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await expect(change('/fixed', 'hide')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await branch.create('/acl', { title: 'a' });
    const command = {
      type: 'TranslateNode',
      workspace,
      place: { path: '/acl' },
      locale: 'de',
      translations: { '/title': 'x' },
    } as const;
    const editor = callerWith((operation) => operation !== 'translate');
    await expect(branch.command(command, editor)).rejects.toEqual(failsWith('PERMISSION_DENIED'));
    const translator = callerWith((operation) => operation === 'translate' || operation === 'read');
    expect(await branch.command(command, translator)).toMatchObject({ locale: 'de' });
  });
});
