import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { callerWith, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { changeBySql, SqlGarden } from '#test/support/sql-garden.ts';

let garden: SqlGarden;

beforeAll(async () => {
  garden = await SqlGarden.open();
  await garden.branch.command({
    type: 'UpdateNode',
    workspace: 'g',
    place: { path: '/sheds' },
    properties: { title: 'Sheds', soil: { kind: 'clay' }, parts: [{ uuid: 'x1', text: 'one' }] },
  });
});
afterAll(async () => {
  expect(await garden.branch.inspect(findDamage)).toEqual([]);
  await garden.close();
});

const translate = (set: string, where: string, locale = 'de', ...parameters: JsonValue[]) =>
  garden.affected(`UPDATE 'g' FOR LOCALE '${locale}' SET ${set} WHERE ${where}`, ...parameters);
const translations = async (path: string) => (await garden.read('g', path)).translations;
const sheds = "path='/sheds'";

describe('TRANSLATE', () => {
  it('keeps the values that it does not name, and drops those that are NULL [SQL-111]', async () => {
    expect(await translate("title = 'Schuppen', soil.kind = 'Lehm'", sheds)).toBe(1);
    expect(await translate("title = 'Hütten'", sheds)).toBe(1);
    expect(await translations('/sheds')).toEqual({ de: { title: 'Hütten', '/soil/kind': 'Lehm' } });
    expect(await translate('soil.kind = NULL', sheds)).toBe(1);
    expect(await translations('/sheds')).toEqual({ de: { title: 'Hütten' } });
    expect(await translate('title = NULL', sheds)).toBe(1);
    expect(await translations('/sheds')).toBeNull();
  });

  it('writes nothing where nothing changes, and counts the node all the same', async () => {
    await translate("title = 'Schuppen'", sheds);
    for (const set of ["title = 'Schuppen'", 'soil.kind = NULL']) {
      const { revision, rows } = await garden.run(`UPDATE 'g' FOR LOCALE 'de' SET ${set} WHERE ${sheds}`);
      expect({ revision, rows }).toEqual({ revision: null, rows: [{ affected_rows: 1 }] });
    }
    await translate('title = NULL', sheds);
  });

  it('names the items of a list by their uuid [SQL-111]', async () => {
    expect(await translate("parts[uuid='x1'].text = 'eins'", sheds)).toBe(1);
    expect(await translations('/sheds')).toEqual({ de: { '/parts/x1/text': 'eins' } });
    await translate("parts[uuid='x1'].text = NULL", sheds);
  });

  it('takes a locale with an underscore and in any case, and values as parameters', async () => {
    await garden.branch.repositoryCommand({
      type: 'UpdateTranslationConfig',
      patch: { supported_languages: ['en', 'de', 'fr', 'de-CH'] },
    });
    expect(await translate('title = $1, soil.kind = $2', sheds, 'DE_ch', 'Schopf', null)).toBe(1);
    expect(await translations('/sheds')).toEqual({ 'de-CH': { title: 'Schopf' } });
    await translate('title = NULL', sheds, 'de-CH');
  });

  it('translates all nodes of a type, and none of another type that a node names [SQL-112]', async () => {
    expect(await translate("title = 'Beet'", "node_type = 'grow:Bed'", 'fr')).toBe(2);
    expect(await translations('/beds/south')).toEqual({ fr: { title: 'Beet' } });
    expect(await translate("title = 'x'", "id = 'b1' AND node_type = 'grow:Plant'", 'fr')).toBe(0);
    expect(await translate("title = 'Nord'", "path = '/beds/north' AND node_type = 'grow:Bed'", 'fr')).toBe(
      1,
    );
    expect(await translations('/beds/north')).toEqual({ fr: { title: 'Nord' } });
    expect(await translate("title = 'x'", "node_type = 'no:Such'", 'fr')).toBe(0);
  });

  it('leaves out nodes of a type that the caller may not translate [SQL-112]', async () => {
    const caller = callerWith((operation, { path }) => operation === 'read' || path === '/beds/south');
    const sql = "UPDATE 'g' FOR LOCALE 'fr' SET title = 'Sud' WHERE node_type = 'grow:Bed'";
    expect((await garden.run(sql, { caller })).rows).toEqual([{ affected_rows: 1 }]);
    expect(await translations('/beds/north')).toEqual({ fr: { title: 'Nord' } });
    expect(await translations('/beds/south')).toEqual({ fr: { title: 'Sud' } });
  });

  it('asks for the properties that it writes', async () => {
    const caller = roleCaller([
      { path: '**', operations: ['read'] },
      { path: '**', operations: ['translate'], fields: ['soil'] },
    ]);
    const sql = (where: string) => `UPDATE 'g' FOR LOCALE 'de' SET title = NULL WHERE ${where}`;
    await translate("title = 'Süd'", "id = 'b2'");
    await expect(garden.run(sql("id = 'b2'"), { caller })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
    // Also where there is no such value, so that the answer tells nothing about it.
    await expect(garden.run(sql("id = 's0'"), { caller })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
    });
    expect((await garden.run(sql("node_type = 'grow:Bed'"), { caller })).rows).toEqual([
      { affected_rows: 0 },
    ]);
    await translate('title = NULL', "id = 'b2'");
  });

  it('writes no more nodes than a revision may have', async () => {
    const small = await openBranch({ commitNodesMax: 100 });
    for (const part of ['a', 'b']) {
      const operations = Array.from({ length: 60 }, (_, index) => ({
        type: 'create' as const,
        parentPath: '/',
        node: { name: `${part}${index}`, nodeType: 'svc:Page', properties: { title: 'x' } },
      }));
      const commit = { message: 'many' };
      await small.command({ type: 'CommitOperations', workspace: WORKSPACE, commit, operations });
    }
    const sql = `UPDATE '${WORKSPACE}' FOR LOCALE 'de' SET title = 'y' WHERE node_type = 'svc:Page'`;
    await expect(changeBySql(small, sql)).rejects.toMatchObject({ code: 'COMMIT_TOO_LARGE' });
    await small.close();
  });

  it.each([
    ["title = 'x'", 'es', "'es' is not a supported language"],
    ['title = 7', 'de', 'title'],
    ["title = 'a', title = 'b'", 'de', 'set twice'],
    ["title.deep = 'x'", 'de', "'title' is not an object or array"],
    ["slug = 'x'", 'de', "'slug' cannot be translated"],
  ])('refuses SET %s in %s', async (set, locale, message) => {
    await expect(translate(set, "id = 'b1'", locale)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining(message),
    });
  });

  it('refuses values in a locale in which the node is hidden, and drops none', async () => {
    await translate("title = 'Basilikum'", "id = 'p1'");
    const place = { workspace: 'g', place: { id: 'p1' }, locale: 'de' } as const;
    await garden.branch.command({ type: 'ChangeLocale', change: 'hide', ...place });
    await expect(translate("title = 'x'", "id = 'p1'")).rejects.toThrow("The node is hidden in 'de'");
    expect(await translate('title = NULL', "id = 'p1'")).toBe(1);
    await garden.branch.command({ type: 'ChangeLocale', change: 'unhide', ...place });
    expect(await translations('/beds/north/basil')).toEqual({ de: { title: 'Basilikum' } });
  });
});
