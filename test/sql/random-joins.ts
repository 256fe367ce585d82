import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { BranchFixture } from '#test/support/branch-fixture.ts';

/** The types of the nodes: one with indexes of all kinds, and one without any. */
export const joinTypes: readonly JsonObject[] = [
  {
    name: 'join:Item',
    properties: [
      { name: 'code', type: 'String', index: ['Property'] },
      { name: 'target', type: 'String', index: ['Property'] },
      { name: 'serial', type: 'String', unique: true },
      { name: 'group', type: 'String' },
    ],
    compound_indexes: [
      {
        name: 'by_group',
        columns: [
          { property: 'group', ascending: true },
          { property: '__created_at', ascending: true },
        ],
      },
    ],
  },
  { name: 'join:Other' },
];

/** Workspaces by name, and how many nodes each has. */
export const joinTables = { few: 9, middle: 40, many: 260 } as const;

const tables = Object.keys(joinTables) as readonly (keyof typeof joinTables)[];
const codes: readonly JsonValue[] = ['a', 'b', 'c', '7', 7, true, 'true', '', 'ä', '[1]', '{}'];

function idOf(table: number, number: number): string {
  return `0000000${table}-0000-4000-8000-${String(number).padStart(12, '0')}`;
}

/** Values repeat, are of several types, null or absent; targets are nodes of any table, or none. */
function propertiesOf(table: number, number: number, isItem: boolean): JsonObject {
  const all: Record<string, JsonValue> = {};
  if (number % 5 !== 3) all.code = codes[(number * 7 + table) % codes.length] ?? null;
  if (number % 9 === 4) all.code = null;
  if (number % 4 !== 1) all.target = idOf((number + table) % 3, number % 11);
  if (number % 7 === 2) all.target = 'nowhere';
  if (number % 3 !== 2) all.group = `g${number % 4}`;
  if (isItem && number % 2 === 0) all.serial = `s${table}-${number}`;
  return isItem ? textsOf(all) : all;
}

/** Properties of a type are texts. */
function textsOf(properties: Record<string, JsonValue>): JsonObject {
  const { code, ...others } = properties;
  if (code === undefined || code === null || typeof code === 'string') return properties;
  return { ...others, code: JSON.stringify(code) };
}

/** Fills the workspaces: the same nodes at every run. A third of the nodes is below other ones. */
export async function fillJoinTables(branch: BranchFixture): Promise<void> {
  for (const [table, workspace] of tables.entries()) {
    const numbers = Array.from({ length: joinTables[workspace] }, (_, number) => number);
    await branch.command({
      type: 'CommitOperations',
      workspace,
      commit: { message: 'tables' },
      operations: numbers.map((number) => {
        const isItem = number % 6 !== 5;
        return {
          type: 'create',
          parentPath: number % 3 === 2 ? `/n${(number - 2) % 12 === 0 ? number - 2 : number - 1}` : '/',
          node: {
            id: idOf(table, number),
            name: `n${number}`,
            nodeType: isItem ? 'join:Item' : 'join:Other',
            properties: propertiesOf(table, number, isItem),
          },
        };
      }),
    });
  }
}

interface Alias {
  readonly name: string;
  readonly sql: string;
  /** Texts that an index may find rows by, or not. */
  readonly texts: readonly string[];
  readonly json: readonly string[];
}

/** Makes joins and subqueries by chance, the same ones for the same seed. Their rows have one multiset. */
export class RandomJoins {
  #state: number;
  #aliases = 0;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  next(): string {
    this.#aliases = 0;
    const first = this.#alias();
    const aliases = [first];
    let from = first.sql;
    const count = this.#below(4);
    for (let number = 0; number < count; number += 1) {
      const alias = this.#alias();
      const type = this.#one(['JOIN', 'JOIN', 'JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'CROSS JOIN']);
      from += ` ${type} ${alias.sql}`;
      if (type !== 'CROSS JOIN') from += ` ON ${this.#on(aliases, alias, type === 'FULL JOIN')}`;
      aliases.push(alias);
      // All pairs of many rows would be too many to compare.
      if (type === 'CROSS JOIN') break;
    }
    const items = aliases.map(({ texts: [id] }, index) => `${id} AS c${index}`).join(', ');
    return `SELECT ${items} FROM ${from}${this.#where(aliases)}`;
  }

  #below(bound: number): number {
    // xorshift32: small, and good enough for choosing.
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    this.#state >>>= 0;
    return this.#state % bound;
  }

  #one<T>(choices: readonly T[]): T {
    return choices[this.#below(choices.length)] as T;
  }

  #alias(): Alias {
    this.#aliases += 1;
    const name = `t${this.#aliases}`;
    const table = this.#one(tables);
    const choice = this.#below(6);
    const texts = ['id', 'path', "properties->>'code'", "properties->>'target'", "properties->>'serial'"];
    const more = ['PARENT(path)', "properties->>'group'", "properties->>'code' || ''"];
    if (choice === 0) {
      const [k, c] = [this.#one([...texts, ...more]), this.#one([...texts, ...more])];
      return {
        name,
        sql: `(SELECT ${k} AS k, ${c} AS c FROM ${table}${this.#filter('')}) AS ${name}`,
        texts: [`${name}.k`, `${name}.c`],
        json: [],
      };
    }
    const of = (text: string): string =>
      text.startsWith('PARENT') ? `PARENT(${name}.path)` : `${name}.${text}`;
    return {
      name,
      sql: `${table} AS ${name}`,
      texts: [...texts, ...more].map(of),
      json: [`${name}.properties->'code'`, `${name}.properties->'target'`],
    };
  }

  #filter(prefix: string): string {
    const condition = this.#condition(prefix);
    return condition === '' ? '' : ` WHERE ${condition}`;
  }

  #condition(prefix: string): string {
    return this.#one([
      '',
      `${prefix}node_type = 'join:Item'`,
      `${prefix}node_type = 'join:Other'`,
      `${prefix}path = '/n1'`,
      `${prefix}path IN ('/n1', '/n2', '/n4', '/n2')`,
      `${prefix}id < '00000001'`,
      `${prefix}properties->>'group' = 'g1'`,
      `${prefix}properties->>'code' = 'a'`,
      `${prefix}properties->>'code' IS NULL`,
    ]);
  }

  #equality(one: Alias, other: Alias): string {
    if (one.json.length > 0 && other.json.length > 0 && this.#below(5) === 0)
      return `${this.#one(one.json)} = ${this.#one(other.json)}`;
    if (this.#below(4) === 0) {
      const at = this.#below(Math.min(one.texts.length, other.texts.length));
      return `${one.texts[at]} = ${other.texts[at]}`;
    }
    return `${this.#one(one.texts)} = ${this.#one(other.texts)}`;
  }

  #on(before: readonly Alias[], alias: Alias, isFull: boolean): string {
    const partner = this.#one(before);
    const equality = this.#below(2) === 0 ? this.#equality(partner, alias) : this.#equality(alias, partner);
    if (isFull || this.#below(3) > 0) return equality;
    return `${equality} AND ${this.#one([
      this.#equality(partner, alias),
      `${this.#one(partner.texts)} < ${this.#one(alias.texts)}`,
      `${this.#one(alias.texts)} <> '/a'`,
      `${this.#one(partner.texts)} IS NOT NULL`,
    ])}`;
  }

  #where(aliases: readonly Alias[]): string {
    const conditions: string[] = [];
    for (const alias of aliases) {
      const condition =
        alias.json.length > 0 && this.#below(2) === 0 ? this.#condition(`${alias.name}.`) : '';
      if (condition !== '') conditions.push(condition);
    }
    if (this.#below(2) === 0) conditions.push(this.#membership(this.#one(aliases)));
    return conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
  }

  #membership(alias: Alias): string {
    const inner = this.#alias();
    const query = `(SELECT ${this.#one(inner.texts)} FROM ${inner.sql}${inner.json.length > 0 ? this.#filter(`${inner.name}.`) : ''})`;
    const smallest = `(SELECT MIN(${this.#one(inner.texts)}) FROM ${inner.sql})`;
    const text = this.#one(alias.texts);
    return this.#one([
      `${text} IN ${query}`,
      `${text} IN ${query}`,
      `${text} NOT IN ${query}`,
      `${text} = ANY ${query}`,
      `${text} <> ALL ${query}`,
      `${text} = ${smallest}`,
      `${smallest} = ${text}`,
      `(${text} IN ${query} OR ${this.#one(alias.texts)} = '/n1')`,
    ]);
  }
}
