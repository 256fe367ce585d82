/** The types that generated expressions have. Numbers are INT or DOUBLE; whole ones are INT in both dialects. */
export type Kind = 'whole' | 'number' | 'text' | 'truth' | 'json';

interface Column {
  readonly sql: string;
  readonly kind: Kind;
}

interface Source {
  readonly sql: string;
  readonly columns: readonly Column[];
}

/** A query without ORDER BY, and the types of its columns, which are called c0, c1 and so on. */
interface Body {
  readonly sql: string;
  readonly kinds: readonly Kind[];
}

const kinds: readonly Kind[] = ['whole', 'number', 'text', 'truth', 'json'];

/** Those that are ordered alike. */
const orderedKinds: readonly Kind[] = ['whole', 'number', 'text', 'truth'];

const tableColumns: Readonly<Record<string, Kind>> = {
  id: 'text',
  path: 'text',
  name: 'text',
  node_type: 'text',
  archetype: 'text',
  parent_name: 'text',
  version: 'whole',
  depth: 'whole',
  properties: 'json',
};

const texts = ["'North'", "'north'", "'bed0'", "'plant1'", "''", "'o'", "'Ö'", "'%'", "'a_b'"];
const patterns = ["'%o%'", "'bed_'", "'N%'", "'%'", "'_'", "'pl%1'", "'/bed_/%'"];
const jsonTexts = [
  `'{"open":true}'`,
  `'{"tags":["sun"]}'`,
  `'{"soil":{"ph":5}}'`,
  `'1'`,
  `'"north"'`,
  `'["sun"]'`,
  `'{}'`,
  `'null'`,
];
const comparisons = ['=', '<>', '<', '<=', '>', '>='];

/** How deep an expression may be. */
const DEPTH_MAX = 3;

/**
 * Makes queries by chance, the same ones for the same seed. They use what both dialects have alike, and their answers have
 * one multiset of rows, or one order where there is an ORDER BY.
 */
export class RandomQueries {
  #state: number;
  #names = 0;

  constructor(seed: number) {
    this.#state = seed >>> 0 || 1;
  }

  /** The next query. */
  next(): string {
    this.#names = 0;
    if (this.#chance(4)) return this.#page();
    const tables: Source[] = [];
    const withTables: string[] = [];
    if (this.#chance(5)) {
      const body = this.#body([], 1);
      const name = this.#name('w');
      withTables.push(`${name} (${names(body.kinds)}) AS (${body.sql})`);
      tables.push(tableOf(name, name, body.kinds));
    }
    const body = this.#body(tables, 0);
    const start = withTables.length === 0 ? '' : `WITH ${withTables.join(', ')} `;
    // JSON has an order of its own here, so rows with some are not ordered.
    const order = body.kinds.includes('json') ? '' : this.#order(body.kinds.length);
    // Only an order of all columns says which rows a page has.
    const page =
      order === '' || !this.#chance(3)
        ? ''
        : ` LIMIT ${this.#below(6)}${this.#chance(2) ? ` OFFSET ${this.#below(4)}` : ''}`;
    return `${start}${body.sql}${order}${page}`;
  }

  /** An expression over the columns of the one table, which has its own name. */
  expression(kind: Kind): string {
    return this.#expression(kind, columnsOf('content'), 0);
  }

  /** One of some texts. */
  oneOf(choices: readonly (() => string)[]): string {
    return this.#one(choices)();
  }

  #below(bound: number): number {
    // xorshift32: small, and good enough for choosing.
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    this.#state >>>= 0;
    return this.#state % bound;
  }

  #chance(oneIn: number): boolean {
    return this.#below(oneIn) === 0;
  }

  #one<T>(choices: readonly T[]): T {
    return choices[this.#below(choices.length)] as T;
  }

  #several<T>(most: number, make: () => T): T[] {
    return Array.from({ length: 1 + this.#below(most) }, make);
  }

  #name(letter: string): string {
    this.#names += 1;
    return `${letter}${this.#names}`;
  }

  /** ORDER BY all columns of the answer, or nothing. */
  #order(count: number): string {
    if (this.#chance(3)) return '';
    const positions = Array.from({ length: count }, (_, index) => index + 1);
    for (let index = positions.length - 1; index > 0; index -= 1) {
      const other = this.#below(index + 1);
      [positions[index], positions[other]] = [positions[other]!, positions[index]!];
    }
    return ` ORDER BY ${positions.map((position) => `${position}${this.#direction()}`).join(', ')}`;
  }

  #direction(): string {
    return this.#one(['', '', ' DESC', ' ASC NULLS FIRST', ' DESC NULLS LAST']);
  }

  /** A page of the table by conditions and orders that an index may answer. */
  #page(): string {
    const conditions = this.#several(3, () => this.#indexable('content'));
    const where = this.#chance(4) ? '' : ` WHERE ${conditions.join(this.#chance(5) ? ' OR ' : ' AND ')}`;
    const key = this.#one([
      'id',
      'path',
      'name',
      'node_type',
      'depth',
      'created_at',
      "(properties->>'title')",
      "(properties->>'number')",
    ]);
    const order = this.#one([
      `${key}${this.#direction()}, path${this.#one(['', ' DESC'])}`,
      `path${this.#one(['', ' DESC'])}`,
    ]);
    const limit = this.#chance(3)
      ? ''
      : ` LIMIT ${this.#below(9)}${this.#chance(2) ? ` OFFSET ${this.#below(6)}` : ''}`;
    return this.#chance(6)
      ? `SELECT DISTINCT ON (${key}) path AS c0, name AS c1 FROM content${where} ORDER BY ${key}${this.#direction()}, path${limit}`
      : `SELECT path AS c0, properties->>'title' AS c1 FROM content${where} ORDER BY ${order}${limit}`;
  }

  /** A condition on columns as they are, for which there may be an index. */
  #indexable(alias: string): string {
    const path = this.#one([
      "'/bed0'",
      "'/bed4/plant1'",
      "'/bed4/plant1/leaf'",
      "'/nowhere'",
      "'/'",
      "'/bed2/plant'",
    ]);
    const id = `'00000000-0000-4000-8000-0000000000${this.#one(['00', '07', '13', '99'])}'`;
    const property = (key: string): string => `${alias}.properties->>'${key}'`;
    return this.#one([
      () => `${alias}.path ${this.#one(comparisons)} ${path}`,
      () => `${alias}.path IN (${path}, '/bed6', '/bed6')`,
      () => `${alias}.path = ANY (ARRAY[${path}, '/bed7'])`,
      () => `${alias}.path BETWEEN '/bed1' AND ${path}`,
      () =>
        `${alias}.path LIKE ${this.#one(["'/bed4/%'", "'%leaf'", "'/bed_'", "'/bed0'", "'/bed4/plant_/l%'"])}`,
      () => `PATH_STARTS_WITH(${alias}.path, ${path})`,
      () => `${alias}.id ${this.#one(['=', '<', '<>'])} ${id}`,
      () => `${alias}.id IN (${id}, '00000000-0000-4000-8000-000000000003')`,
      () =>
        `${alias}.node_type ${this.#one(['=', '<>', '>'])} ${this.#one(["'garden:Plant'", "'garden:Bed'", "'x'"])}`,
      () => `${alias}.depth ${this.#one(comparisons)} ${this.#below(4)}`,
      () => `${alias}.parent_name ${this.#one(['=', '<>'])} ${this.#one(["'bed4'", "'bed0'", 'NULL'])}`,
      () => `${property('title')} ${this.#one(comparisons)} ${this.#one(texts)}`,
      () => `${property('title')} IN (${this.#one(texts)}, 'south', NULL)`,
      () =>
        `${property('title')} IS ${this.#one(['NULL', 'NOT NULL', "DISTINCT FROM 'North'", "NOT DISTINCT FROM 'north'"])}`,
      () => `${property('title')} LIKE ${this.#one(patterns)}`,
      () => `${property('number')} = '${this.#below(20)}'`,
      () => `(${property('number')})::double precision ${this.#one(comparisons)} ${this.#below(20)}`,
      () => `${property('open')} = ${this.#one(["'true'", "'false'", "'x'"])}`,
      () => `${alias}.properties->'number' = '${this.#below(20)}'`,
      () => `${alias}.properties->'open' ${this.#one(['=', '<>'])} ${this.#one(["'true'", "'false'"])}`,
      () => `${alias}.properties @> '{"title":"North"}'`,
      () => `${alias}.properties @> '{"open":true,"number":${this.#below(12)}}'`,
      () =>
        `${alias}.created_at ${this.#one(['>', '<=', '='])} ${this.#one(["'2020-01-01'", "'2120-01-01T00:00:00Z'", `${alias}.updated_at`])}`,
    ])();
  }

  #body(tables: readonly Source[], level: number): Body {
    const choice = this.#below(level > 1 ? 6 : 8);
    if (choice === 7) return this.#setOperation(tables, level);
    if (choice === 6 || choice === 5) return this.#grouped(tables, level);
    return this.#select(tables, level);
  }

  #setOperation(tables: readonly Source[], level: number): Body {
    const left = this.#select(tables, level + 1);
    const others = this.#several(2, () => this.#select(tables, level + 1, left.kinds));
    const arms = others.map(
      (arm) =>
        `${this.#one(['UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'INTERSECT ALL', 'EXCEPT ALL'])} ${arm.sql}`,
    );
    return { sql: `${left.sql} ${arms.join(' ')}`, kinds: left.kinds };
  }

  #select(tables: readonly Source[], level: number, wanted?: readonly Kind[]): Body {
    const source = this.#source(tables, level);
    const itemKinds = wanted ?? this.#several(3, () => this.#one(kinds));
    const hasWindow = wanted === undefined && this.#chance(5);
    const items = itemKinds.map((kind) => this.#expression(kind, source.columns, level));
    const all: Kind[] = [...itemKinds];
    if (hasWindow) {
      items.push(this.#window(source.columns));
      all.push('number');
    }
    const distinct = !hasWindow && this.#chance(5) ? 'DISTINCT ' : '';
    const list = items.map((item, index) => `${item} AS c${index}`).join(', ');
    return {
      sql: `SELECT ${distinct}${list} FROM ${source.sql}${this.#where(source, tables, level)}`,
      kinds: all,
    };
  }

  #where(source: Source, tables: readonly Source[], level: number): string {
    if (this.#chance(3)) return '';
    const condition = this.#expression('truth', source.columns, level);
    if (level > 1 || !this.#chance(4)) return ` WHERE ${condition}`;
    const inner = this.#select(tables, 2, ['text']);
    const probe = this.#expression('text', source.columns, 2);
    const isNegated = this.#chance(3) ? 'NOT ' : '';
    const membership = this.#one([
      `${probe} ${isNegated}IN (${inner.sql})`,
      `${isNegated}EXISTS (${inner.sql})`,
      `${probe} ${this.#one(['=', '<>', '>'])} ${this.#one(['ANY', 'ALL'])} (${inner.sql})`,
    ]);
    return ` WHERE ${condition} ${this.#one(['AND', 'OR'])} ${membership}`;
  }

  #grouped(tables: readonly Source[], level: number): Body {
    const source = this.#source(tables, level);
    const keyKinds = this.#chance(4) ? [] : this.#several(2, () => this.#one(kinds));
    const keys = keyKinds.map((kind) => this.#expression(kind, source.columns, DEPTH_MAX - 1));
    const aggregates = this.#several(2, () => this.#aggregate(source.columns));
    const list = [...keys, ...aggregates.map(({ sql }) => sql)]
      .map((item, index) => `${item} AS c${index}`)
      .join(', ');
    // By position, because two expressions that are equal may be written otherwise.
    const groups = keys.length === 0 ? '' : ` GROUP BY ${keys.map((_, index) => index + 1).join(', ')}`;
    const having = this.#chance(4)
      ? ` HAVING ${this.#aggregate(source.columns, 'number').sql} ${this.#one(comparisons)} ${this.#below(6)}`
      : '';
    return {
      sql: `SELECT ${list} FROM ${source.sql}${this.#where(source, tables, level)}${groups}${having}`,
      kinds: [...keyKinds, ...aggregates.map(({ kind }) => kind)],
    };
  }

  #aggregate(columns: readonly Column[], wanted?: Kind): Column {
    const kind = wanted ?? this.#one(['number', 'text', 'truth'] as const);
    const filter = this.#chance(4) ? ` FILTER (WHERE ${this.#expression('truth', columns, 2)})` : '';
    const argument = (of: Kind) => this.#expression(of, columns, 2);
    const distinct = this.#chance(4) ? 'DISTINCT ' : '';
    if (kind === 'text') {
      const text = argument('text');
      return {
        kind,
        sql:
          this.#one([`min(${text})`, `max(${text})`, `string_agg(${text}, '-' ORDER BY ${text})`]) + filter,
      };
    }
    if (kind === 'truth')
      return { kind, sql: `${this.#one(['bool_and', 'bool_or', 'every'])}(${argument('truth')})${filter}` };
    const number = argument(this.#one(['number', 'whole']));
    const sql = this.#one([
      'count(*)',
      `count(${distinct}${argument(this.#one(kinds))})`,
      `sum(${distinct}${number})`,
      `avg(${number})`,
      `min(${number})`,
      `max(${number})`,
    ]);
    return { kind: 'number', sql: sql + filter };
  }

  /** A window function whose result does not depend on the order of peers. */
  #window(columns: readonly Column[]): string {
    const partition = this.#chance(2)
      ? `PARTITION BY ${this.#expression(this.#one(kinds), columns, DEPTH_MAX)} `
      : '';
    const order = `ORDER BY ${this.#expression(this.#one(orderedKinds), columns, DEPTH_MAX)}${this.#direction()}`;
    const whole = this.#one([
      'count(*)',
      `sum(${this.#expression('whole', columns, DEPTH_MAX)})`,
      `avg(${this.#expression('number', columns, DEPTH_MAX)})`,
    ]);
    return this.#one([
      `rank() OVER (${partition}${order})`,
      `dense_rank() OVER (${partition}${order})`,
      `cume_dist() OVER (${partition}${order})`,
      `${whole} OVER (${partition})`,
      `${whole} OVER (${partition}${order})`,
      `${whole} OVER (${partition}${order} RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)`,
      `${whole} OVER (${partition}ORDER BY 1 ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)`,
    ]);
  }

  #source(tables: readonly Source[], level: number): Source {
    const first = this.#table(tables, level);
    if (level > 1 || !this.#chance(3)) return first;
    const second = this.#table(tables, level);
    const columns = [...first.columns, ...second.columns];
    const type = this.#one(['JOIN', 'JOIN', 'LEFT JOIN', 'RIGHT JOIN', 'FULL JOIN', 'CROSS JOIN', ',']);
    if (type === 'FULL JOIN') return this.#fullJoin(first, second);
    if (type === 'CROSS JOIN' || type === ',')
      return { sql: `${first.sql}${type === ',' ? ',' : ` ${type}`} ${second.sql}`, columns };
    const kind = this.#one(['text', 'whole', 'text'] as const);
    const equality = `${this.#expression(kind, first.columns, DEPTH_MAX)} = ${this.#expression(kind, second.columns, DEPTH_MAX)}`;
    const on = this.#one([
      equality,
      `${equality} AND ${this.#expression('truth', columns, 2)}`,
      this.#expression('truth', columns, 2),
    ]);
    return { sql: `${first.sql} ${type} ${second.sql} ON ${on}`, columns };
  }

  /** PostgreSQL has FULL JOIN by the equality of two columns only. */
  #fullJoin(first: Source, second: Source): Source {
    const columns = [...first.columns, ...second.columns];
    const pairs = first.columns.flatMap((left) =>
      second.columns
        .filter(({ kind }) => kind === left.kind && kind !== 'json')
        .map((right) => `${left.sql} = ${right.sql}`),
    );
    if (pairs.length === 0) return { sql: `${first.sql} CROSS JOIN ${second.sql}`, columns };
    return { sql: `${first.sql} FULL JOIN ${second.sql} ON ${this.#one(pairs)}`, columns };
  }

  #table(tables: readonly Source[], level: number): Source {
    const alias = this.#name('t');
    const choice = this.#below(level > 1 ? 6 : 8);
    if (choice === 7) {
      const body = this.#body(tables, level + 1);
      return tableOf(`(${body.sql})`, alias, body.kinds);
    }
    if (choice === 6) return this.#values(alias);
    const common = choice === 5 && tables.length > 0 ? this.#one(tables) : undefined;
    if (common !== undefined) {
      return {
        sql: `${common.sql} AS ${alias}`,
        columns: common.columns.map(({ kind }, index) => ({ kind, sql: `${alias}.c${index}` })),
      };
    }
    return { sql: `content AS ${alias}`, columns: columnsOf(alias) };
  }

  #values(alias: string): Source {
    const rowKinds = this.#several(2, () => this.#one(['whole', 'text', 'truth'] as const));
    const rows = this.#several(4, () =>
      rowKinds.map((kind) => (this.#chance(5) ? 'NULL' : this.#literal(kind))),
    );
    // The first row tells the types, so it has no NULL.
    rows.unshift(rowKinds.map((kind) => this.#literal(kind)));
    return tableOf(`(VALUES ${rows.map((row) => `(${row.join(', ')})`).join(', ')})`, alias, rowKinds);
  }

  #literal(kind: Kind): string {
    switch (kind) {
      case 'whole':
        return String(this.#below(10) - 2);
      case 'number':
        return this.#one(['1.5', '2', '0.25', '-3', '10']);
      case 'text':
        return this.#one(texts);
      case 'truth':
        return this.#one(['TRUE', 'FALSE']);
      case 'json':
        return `${this.#one(jsonTexts)}::jsonb`;
    }
  }

  #expression(kind: Kind, columns: readonly Column[], depth: number): string {
    const fitting = columns.filter((column) => column.kind === kind);
    if (depth >= DEPTH_MAX || this.#chance(4)) {
      if (fitting.length > 0 && !this.#chance(6)) return this.#one(fitting).sql;
      // A constant may not stand where a position could.
      return `(${this.#literal(kind)})`;
    }
    const inner = (of: Kind): string => this.#expression(of, columns, depth + 1);
    if (this.#chance(6)) return this.#common(kind, inner);
    switch (kind) {
      case 'whole':
        return this.#one([
          () => `length(${inner('text')})`,
          () => `abs(${inner('whole')})`,
          () => this.#one(fitting)?.sql ?? '(1)',
        ])();
      case 'number':
        return this.#number(inner, columns);
      case 'text':
        return this.#text(inner, columns);
      case 'truth':
        return this.#truth(inner, columns);
      case 'json':
        return this.#json(inner, columns);
    }
  }

  /** What there is for every type. */
  #common(kind: Kind, inner: (of: Kind) => string): string {
    return this.#one([
      () => `CASE WHEN ${inner('truth')} THEN ${inner(kind)} ELSE ${inner(kind)} END`,
      () => `CASE WHEN ${inner('truth')} THEN ${inner(kind)} END`,
      () => `coalesce(${inner(kind)}, ${inner(kind)})`,
      () => `nullif(${inner(kind)}, ${inner(kind)})`,
      () => `CASE ${inner('whole')} WHEN ${inner('whole')} THEN ${inner(kind)} ELSE ${inner(kind)} END`,
      ...(kind === 'json' || kind === 'truth'
        ? []
        : [() => `${this.#one(['greatest', 'least'])}(${inner(kind)}, ${inner(kind)})`]),
    ])();
  }

  #number(inner: (of: Kind) => string, columns: readonly Column[]): string {
    const json = columns.filter((column) => column.sql.endsWith('.properties'));
    return this.#one([
      () => `(${inner('number')} ${this.#one(['+', '-', '*'])} ${inner('number')})`,
      () => `(${inner('number')} / ${this.#one(['2', '4', '(-5)'])})`,
      () => `(${inner('whole')} % ${this.#one(['2', '3', '(-2)'])})`,
      () => `(- ${inner('number')})`,
      () => `${this.#one(['floor', 'ceil', 'abs', 'sign'])}(${inner('number')})`,
      () => inner('whole'),
      ...(json.length === 0
        ? []
        : [() => `(${this.#one(json).sql}->>'${this.#one(['number', 'area', 'stock'])}')::double precision`]),
    ])();
  }

  #text(inner: (of: Kind) => string, columns: readonly Column[]): string {
    const json = columns.filter((column) => column.sql.endsWith('.properties'));
    return this.#one(
      [
        () => `(${inner('text')} || ${inner('text')})`,
        () => `${this.#one(['upper', 'lower', 'trim', 'reverse', 'ltrim', 'initcap'])}(${inner('text')})`,
        () => `substring(${inner('text')}, ${this.#below(4)}, ${this.#below(4)})`,
        () => `${this.#one(['left', 'right'])}(${inner('text')}, ${this.#below(5) - 1})`,
        () => `replace(${inner('text')}, ${inner('text')}, ${inner('text')})`,
        () => `split_part(${inner('text')}, '/', ${1 + this.#below(3)})`,
        () => `lpad(${inner('text')}, ${this.#below(6)}, 'xy')`,
        () => `(${inner('whole')})::text`,
        () => `concat(${inner('text')}, ${inner('whole')})`,
        ...(json.length === 0
          ? []
          : [
              () =>
                `(${this.#one(json).sql}->>'${this.#one(['title', 'number', 'open', 'area', 'stock', 'nothing'])}')`,
              () =>
                `(${this.#one(json).sql}#>>'{${this.#one(['soil,kind', 'tags,0', 'tags,-1', 'title,x'])}}')`,
            ]),
      ].filter((_, index) => index < 40),
    )();
  }

  #truth(inner: (of: Kind) => string, columns: readonly Column[]): string {
    const kind = this.#one(['whole', 'number', 'text', 'text', 'truth', 'json'] as const);
    const comparable = kind === 'json' ? ['=', '<>'] : comparisons;
    const json = columns.filter((column) => column.sql.endsWith('.properties'));
    const alias = json.length === 0 ? undefined : this.#one(json).sql.slice(0, -'.properties'.length);
    if (alias !== undefined && this.#chance(4)) return `(${this.#indexable(alias)})`;
    const not = this.#chance(3) ? 'NOT ' : '';
    return this.#one([
      () => `(${inner(kind)} ${this.#one(comparable)} ${inner(kind)})`,
      () => `(${inner(kind)} ${this.#one(comparable)} ${inner(kind)})`,
      () => `(${inner('truth')} ${this.#one(['AND', 'OR'])} ${inner('truth')})`,
      () => `(NOT ${inner('truth')})`,
      () => `(${inner(kind)} IS ${not}NULL)`,
      () => `(${inner('truth')} IS ${not}${this.#one(['TRUE', 'FALSE', 'UNKNOWN'])})`,
      () => `(${inner('text')} ${not}${this.#one(['LIKE', 'ILIKE'])} ${this.#one(patterns)})`,
      () => `(${inner('whole')} ${not}BETWEEN ${inner('whole')} AND ${inner('whole')})`,
      () => `(${inner('text')} ${not}IN (${this.#several(3, () => inner('text')).join(', ')}))`,
      () => `(${inner('whole')} ${not}IN (${inner('whole')}, ${this.#one(['NULL', '2'])}))`,
      () => `(${inner(kind)} IS ${not}DISTINCT FROM ${inner(kind)})`,
      () =>
        `(${inner('text')} ${this.#one(['=', '<>', '<'])} ${this.#one(['ANY', 'ALL'])} (ARRAY[${this.#several(2, () => inner('text')).join(', ')}]))`,
      ...(json.length === 0
        ? []
        : [
            () => `(${this.#one(json).sql} @> ${this.#one(jsonTexts)})`,
            () => `(${this.#one(json).sql}->'tags' ? '${this.#one(['sun', 'shade', 'x'])}')`,
            () =>
              `(${this.#one(json).sql} ?${this.#one(['|', '&'])} ARRAY['title', '${this.#one(['soil', 'area'])}'])`,
            () => `(${this.#one(json).sql}->>'open' = ${this.#one(["'true'", "'false'"])})`,
            () => `(${this.#one(json).sql}->>'title' ${this.#one(comparisons)} ${this.#one(texts)})`,
          ]),
    ])();
  }

  #json(inner: (of: Kind) => string, columns: readonly Column[]): string {
    const json = columns.filter((column) => column.kind === 'json');
    if (json.length === 0) return `${this.#one(jsonTexts)}::jsonb`;
    return this.#one([
      () =>
        `(${this.#one(json).sql}->'${this.#one(['title', 'tags', 'soil', 'open', 'number', 'nothing'])}')`,
      () => `(${inner('json')}->${this.#one(["'ph'", "'x'"])})`,
      () => `(${this.#one(json).sql}->'tags'->${this.#one(['0', '1', '(-1)', '5'])})`,
      // Taking a key out of what is no object is an error, which depends on the rows that are looked at.
      () => `('{"a":1,"b":[2]}'::jsonb - '${this.#one(['a', 'b', 'c'])}')`,
      () => `(${this.#one(json).sql}#>'{${this.#one(['soil,ph', 'tags,1', 'soil'])}}')`,
      () => `jsonb_build_array(${inner('whole')}, ${inner('text')})`,
      () => `to_jsonb(${inner('whole')})`,
    ])();
  }
}

function names(columnKinds: readonly Kind[]): string {
  return columnKinds.map((_, index) => `c${index}`).join(', ');
}

/** The columns of a table that expressions use. */
function columnsOf(alias: string): readonly Column[] {
  return Object.entries(tableColumns).map(([name, kind]) => ({
    // A text that is no path cannot be compared with one.
    sql: name === 'path' ? `${alias}.path::text` : `${alias}.${name}`,
    kind,
  }));
}

function tableOf(sql: string, alias: string, columnKinds: readonly Kind[]): Source {
  const columns = columnKinds.map((kind, index) => ({ kind, sql: `${alias}.c${index}` }));
  return { sql: sql === alias ? sql : `${sql} AS ${alias} (${names(columnKinds)})`, columns };
}
