import { Buffer } from 'node:buffer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BestKeys } from '#actors/branch/sql/tables/best-keys.ts';
import type { StoredValues } from '#actors/branch/sql/tables/stored-values.ts';
import { defaultRequestLimits, RequestBudget } from '#runtime/budget/request-budget.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import { CRC_AT } from '#runtime/tree/record/record-layout.ts';
import { STEP_BYTES } from '#runtime/tree/record/steps.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { by, wanted, withTables } from '#test/support/sql-tables.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const title = { kind: 'property', key: 'title', isText: true } as const;

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch({
    nodeTypes: [
      { name: 'test:Text', properties: [{ name: 'title', type: 'String', is_translatable: true }] },
    ],
  });
  await branch.repositoryCommand({
    type: 'UpdateTranslationConfig',
    patch: { supported_languages: ['en', 'de'] },
  });
  for (const name of names) {
    // A large node is read by itself, between those that are looked at in place.
    const text = name === 'c' ? { text: 'x'.repeat(2 * STEP_BYTES) } : {};
    await branch.create(`/${name}`, { title: `title ${name}`, ...text }, 'test:Text');
  }
  const hidden = {
    type: 'ChangeLocale',
    workspace: WORKSPACE,
    place: { path: '/b' },
    locale: 'de',
    change: 'hide',
  };
  await branch.command({
    type: 'TranslateNode',
    workspace: WORKSPACE,
    place: { path: '/d' },
    locale: 'de',
    translations: { '/title': 'Titel d' },
  });
  await branch.command(hidden as never);
  await branch.command({
    type: 'AddRelation',
    workspace: WORKSPACE,
    place: { path: '/a' },
    targetWorkspace: WORKSPACE,
    targetPath: '/b',
    relationType: 'likes',
    weight: null,
  });
}, 20_000);
afterAll(() => branch.close());

/** A reader whose first row fails its checksum. */
function damaged(reader: TableReader): TableReader {
  let isFirst = true;
  return new Proxy(reader, {
    get(target, name) {
      if (name === 'visit') return visit;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  function visit(
    ...[table, range, visitor]: Parameters<typeof visitRows> extends [unknown, ...infer Rest] ? Rest : never
  ): void {
    visitRows(reader, table, range, (row) => {
      const bytes = Buffer.from(row.bytes.subarray(0, row.length));
      if (isFirst) bytes.writeUInt8(bytes.readUInt8(CRC_AT) ^ 1, CRC_AT);
      isFirst = false;
      return visitor({ ...row, bytes, length: row.length, large: row.large, key: () => row.key() });
    });
  }
}

describe('rows that are made where nodes are stored', () => {
  it('come in the order of the scan, with large nodes among them', () => {
    withTables(branch, {}, (tables) => {
      const { rows } = tables.read({ wanted: [wanted('name'), title], order: [by('id')] });
      expect(rows).toEqual(names.map((name) => [name, `title ${name}`]));
    });
  });

  it('do not overtake a node with translations', () => {
    withTables(branch, {}, (tables) => {
      const { rows } = tables.read({ wanted: [title], order: [by('id')], plan: { locales: ['de'] } });
      expect(rows).toEqual([['title a'], ['title c'], ['Titel d'], ['title e']]);
    });
  });

  it('show relations, translations and places of the nodes that have them', () => {
    withTables(branch, {}, (tables) => {
      const columns = ['name', 'relations', 'translations', '__tree_order', '__order'] as const;
      const { rows } = tables.read({ wanted: columns.map(wanted), order: [by('id')] });
      expect(rows.map(([name]) => name)).toEqual(names);
      const having = (slot: number): readonly unknown[] =>
        rows.filter((row) => row[slot] !== null).map(([name]) => name);
      expect(having(1)).toEqual(['a']);
      expect(having(2)).toEqual(['b', 'd']);
      expect(rows.every((row) => row[3] === row[4])).toBe(true);
    });
  });

  it('are not there for nodes that are hidden in their locale, whatever they show', () => {
    withTables(branch, {}, (tables) => {
      const { rows } = tables.read({ wanted: [wanted('name')], plan: { locales: ['de'] } });
      expect(rows).toEqual([['a'], ['c'], ['d'], ['e']]);
      expect(tables.read({ wanted: [], plan: { locales: ['de'] } }).rows).toHaveLength(4);
      const both = { locales: ['en', 'de'] };
      expect(tables.read({ wanted: [], plan: both }).rows).toHaveLength(names.length + 4);
      expect(tables.read({ wanted: [title], plan: both }).rows).toContainEqual(['Titel d']);
    });
  });

  it('are refused where their checksums are wrong, unless they are only summed up [SQL-149]', () => {
    withTables(branch, { over: damaged }, (tables) => {
      expect(() => tables.read({ wanted: [wanted('name')] })).toThrow(
        expect.objectContaining({ code: 'DATA_CORRUPTED' }),
      );
      expect(tables.read({ wanted: [wanted('version')], isSummed: true }).rows).toHaveLength(names.length);
    });
  });

  it('are only those that may be among the first of an order', () => {
    withTables(branch, {}, (tables) => {
      const asked = { wanted: [wanted('name')], order: [by(title, true)], limit: 2 };
      const rows = tables.rows(tables.access(asked));
      expect(rows.length).toBeLessThanOrEqual(names.length);
      expect(rows).toContainEqual(['e']);
      expect(rows).toContainEqual(['d']);
      const first = tables.rows(tables.access({ ...asked, order: [by(title)] }));
      // The large one is made without being asked about.
      expect(first).toEqual([['a'], ['b'], ['c'], ['d'], ['e']].slice(0, 3));
    });
  });
});

describe('the best keys', () => {
  const order = [by(title)];
  const row = (text: string): StoredValues => ({ text: () => text }) as unknown as StoredValues;
  const bestOf = (memoryMax: number): { best: BestKeys; budget: RequestBudget } => {
    const budget = new RequestBudget({ ...defaultRequestLimits, memoryMax });
    return { best: new BestKeys(order, [(values) => values.text(0)], 2, budget), budget };
  };

  it('leave out what equals the worst or comes behind it', () => {
    const { best } = bestOf(1_000_000);
    expect(['b', 'd', 'd', 'c', 'd', 'a', 'c', 'b'].map((text) => best.offer(row(text)))).toEqual([
      true,
      true,
      false,
      true,
      false,
      true,
      false,
      false,
    ]);
  });

  it('count their memory until they are closed', () => {
    const { best, budget } = bestOf(1_000_000);
    for (const text of ['d', 'c', 'b', 'a']) best.offer(row(text));
    expect(budget.memory).toBeGreaterThan(0);
    best.close();
    best.close();
    expect(budget.memory).toBe(0);
    expect(() => bestOf(1_000).best.offer(row('x'.repeat(1_000)))).toThrow(
      expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }),
    );
  });
});
