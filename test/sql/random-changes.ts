import { type Kind, RandomQueries } from './random-queries.ts';

/** A statement that writes, with what it returns called c0, c1 and so on. */
export interface RandomChange {
  readonly sql: string;
  readonly columns: number;
}

const kinds: readonly Kind[] = ['whole', 'number', 'text', 'truth', 'json'];

/**
 * Makes statements that write to the garden by chance, the same ones for the same seed. They use what both dialects have alike:
 * no names and paths are changed, because the children of a node have no part in that in a plain table.
 */
export class RandomChanges {
  readonly #queries: RandomQueries;

  constructor(seed: number) {
    this.#queries = new RandomQueries(seed);
  }

  /** The next statement. */
  next(): RandomChange {
    const items = ['content.id', ...this.#several(3, () => this.#returned())];
    const change = this.#one([
      () => this.#update(),
      () => this.#update(),
      () => this.#delete(),
      () => this.#insert(),
    ]);
    const returning = items.map((item, index) => `${item} AS c${index}`).join(', ');
    return { sql: `${change} RETURNING ${returning}`, columns: items.length };
  }

  #one(choices: readonly (() => string)[]): string {
    return this.#queries.oneOf(choices);
  }

  #several(most: number, make: () => string): readonly string[] {
    const all = Array.from({ length: most }, (_, count) => () => String(count + 1));
    return Array.from({ length: Number(this.#one(all)) }, make);
  }

  #value(): string {
    return this.#one(kinds.map((kind) => () => this.#queries.expression(kind)));
  }

  #returned(): string {
    return this.#one([
      () => 'content.properties',
      () => 'content.owner_id',
      () => 'content.path',
      () => this.#value(),
    ]);
  }

  #where(): string {
    return this.#one([
      () => this.#queries.expression('truth'),
      () => this.#queries.expression('truth'),
      () =>
        `content.id = '00000000-0000-4000-8000-0000000000${this.#one([() => '00', () => '05', () => '12'])}'`,
      () => `content.path = ${this.#one([() => "'/bed0'", () => "'/bed4/plant1'"])}`,
    ]);
  }

  #update(): string {
    const assignments = this.#one([
      () => `properties = ${this.#properties()}`,
      () => `owner_id = ${this.#owner()}`,
      () => `owner_id = ${this.#owner()}, properties = ${this.#properties()}`,
    ]);
    return `UPDATE content SET ${assignments} WHERE ${this.#where()}`;
  }

  #delete(): string {
    return `DELETE FROM content WHERE ${this.#where()}`;
  }

  #insert(): string {
    const columns = '(id, path, node_type, properties, owner_id)';
    return this.#one([
      () =>
        `INSERT INTO content ${columns} SELECT 'new-' || content.id, '/new-' || content.id, content.node_type, ${this.#properties()}, ${this.#owner()} FROM content WHERE ${this.#where()}`,
      () =>
        `INSERT INTO content ${columns} VALUES ('n1', '/n' || '1', 'garden:Bed', '{"a":[1,2.5,null]}', NULL), ('n2', '/n2', 'garden:Bed', JSONB_BUILD_OBJECT('a', ${this.#constant()}), 'x')`,
    ]);
  }

  #constant(): string {
    return this.#one([
      () => '1',
      () => "'x'::text",
      () => '1.5 + 2',
      () => 'TRUE',
      () => `'[1]'::jsonb`,
      () => 'NULL::text',
    ]);
  }

  /** Most texts may be who owns a node. */
  #owner(): string {
    return this.#one([
      () => 'NULL',
      () => "'ana'",
      () => `'u' || length(${this.#queries.expression('text')})`,
      () => `coalesce(content.owner_id, 'u' || content.name)`,
    ]);
  }

  /** An object with the types that the properties of a plant have. */
  #properties(): string {
    const inner = (): string =>
      this.#one([() => 'content.properties', () => 'content.properties', () => this.#properties()]);
    return this.#one([
      () => `(${inner()} || '{"area":5,"soil":{"ph":1}}')`,
      () => `(${inner()} - 'tags')`,
      () => `(${inner()} - ARRAY['tags', 'stock', 'title'])`,
      () => `(${inner()} #- '{soil,ph}')`,
      () => `JSONB_SET(${inner()}, '{area}', COALESCE(TO_JSONB(${this.#value()}), 'null'::jsonb))`,
      () => `JSONB_SET(JSONB_SET(${inner()}, '{soil}', '{}'), '{soil,kind}', '"clay"')`,
      () => `JSONB_SET(${inner()}, '{tags,0}', '"wind"', FALSE)`,
      () => `JSONB_BUILD_OBJECT('number', content.version, 'x', ${this.#value()})`,
      () => `CASE WHEN ${this.#queries.expression('truth')} THEN ${inner()} ELSE ${inner()} END`,
      () => `'{"a":1e2,"b":"ö"}'::jsonb`,
    ]);
  }
}
