import type { NodeRow } from '#test/support/memory-tables.ts';

/** Makes statements over a small workspace by chance: the same ones for the same seed. */
export class SomeStatements {
  #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** Rows with few values, many ties, and NULLs. */
  rows(count: number): NodeRow[] {
    return Array.from({ length: count }, (_, at) => ({
      id: `n${String(at).padStart(3, '0')}`,
      name: this.#one('a', 'b', 'B', 'ü', null, 'aa', ''),
      node_type: this.#one('x', 'y', null),
      version: this.#one(null, 1, 2, 3, 4, 5, -7),
      depth: this.#one(0, 1, 2, 3, null),
    }));
  }

  /** A statement whose answer has one order only. */
  next(): string {
    const make = this.#one(
      () => this.#windows(),
      () => this.#windows(),
      () => this.#groups(),
      () => this.#oneGroup(),
      () => this.#setOperation(),
      () => this.#distinct(),
      () => this.#page(),
    );
    return make();
  }

  #below(bound: number): number {
    this.#seed = (this.#seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((this.#seed / 2_147_483_648) * bound);
  }

  #one<T>(...choices: readonly T[]): T {
    return choices[this.#below(choices.length)] as T;
  }

  #several(make: () => string): string {
    return Array.from({ length: 1 + this.#below(3) }, (_, at) => `${make()} AS w${at}`).join(', ');
  }

  #direction(): string {
    return this.#one('', ' ASC', ' DESC') + this.#one('', ' NULLS FIRST', ' NULLS LAST');
  }

  #column(): string {
    return this.#one('name', 'node_type', 'version', 'depth');
  }

  #number(): string {
    return this.#one('version', 'depth', 'version * depth', 'version::double precision');
  }

  #filter(): string {
    return this.#one('', '', ' FILTER (WHERE depth > 1)', " FILTER (WHERE node_type = 'x')");
  }

  #edge(unbounded: 'PRECEDING' | 'FOLLOWING'): string {
    const distance = this.#below(4);
    return this.#one(
      `UNBOUNDED ${unbounded}`,
      'CURRENT ROW',
      `${distance} PRECEDING`,
      `${distance} FOLLOWING`,
    );
  }

  #windows(): string {
    return `SELECT id, ${this.#several(() => this.#window())} FROM content ORDER BY id`;
  }

  /** Where rows tie, only functions that are the same for all peers have one result. */
  #window(): string {
    const hasTies = this.#below(2) === 0;
    const partition = this.#one('', 'PARTITION BY node_type ', 'PARTITION BY node_type, depth ');
    const order = `ORDER BY ${this.#column()}${this.#direction()}${hasTies ? '' : ', id'}`;
    const from = this.#one('UNBOUNDED PRECEDING', 'CURRENT ROW');
    const to = this.#one('CURRENT ROW', 'UNBOUNDED FOLLOWING');
    const frame = hasTies
      ? this.#one('', ` RANGE BETWEEN ${from} AND ${to}`)
      : this.#one('', ` ROWS BETWEEN ${this.#edge('PRECEDING')} AND ${this.#edge('FOLLOWING')}`);
    const forPeers = [
      'RANK()',
      'DENSE_RANK()',
      'PERCENT_RANK()',
      'CUME_DIST()',
      `COUNT(*)${this.#filter()}`,
      `SUM(${this.#number()})${this.#filter()}`,
      `AVG(${this.#number()})`,
      `MIN(name)${this.#filter()}`,
      `MAX(version)${this.#filter()}`,
      'COUNT(version)',
    ];
    const forRows = [
      'ROW_NUMBER()',
      `NTILE(${1 + this.#below(5)})`,
      'LAG(version)',
      `LAG(version, ${this.#below(3)}, -1)`,
      "LEAD(name, 2, 'q')",
      'FIRST_VALUE(version)',
      'LAST_VALUE(name)',
      `NTH_VALUE(id, ${1 + this.#below(3)})`,
      'ARRAY_AGG(version)',
      "STRING_AGG(name, ',')",
    ];
    return `${this.#one(...forPeers, ...(hasTies ? [] : forRows))} OVER (${partition}${order}${frame})`;
  }

  #aggregate(): string {
    const taken = this.#one(
      'COUNT(*)',
      `COUNT(DISTINCT ${this.#column()})`,
      `COUNT(${this.#column()})`,
      `SUM(${this.#number()})`,
      'SUM(DISTINCT version)',
      `AVG(${this.#number()})`,
      'MIN(name)',
      'MAX(version)',
      `ARRAY_AGG(version ORDER BY version${this.#direction()}, id)`,
      `ARRAY_AGG(id ORDER BY ${this.#column()}${this.#direction()}, id)`,
      `ARRAY_AGG(DISTINCT ${this.#one('version', 'name', 'depth')})`,
      'ARRAY_AGG(DISTINCT version ORDER BY version DESC)',
      "STRING_AGG(name, '-' ORDER BY id DESC)",
      'BOOL_OR(version > 3)',
    );
    return taken + this.#filter();
  }

  #groups(): string {
    const key = this.#column();
    const having = this.#one('', ' HAVING COUNT(*) > 5');
    const aggregates = this.#several(() => this.#aggregate());
    return `SELECT ${key} AS k, ${aggregates} FROM content GROUP BY ${key}${having} ORDER BY k${this.#direction()}`;
  }

  #oneGroup(): string {
    const condition = this.#one('TRUE', 'version > 100', 'depth > 0');
    return `SELECT ${this.#several(() => this.#aggregate())} FROM content WHERE ${condition}`;
  }

  #setOperation(): string {
    const key = this.#column();
    const operator = this.#one('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT');
    const left = `SELECT ${key} AS k FROM content WHERE id < 'n0${this.#below(3)}5'`;
    const right = `SELECT ${key} AS k FROM content WHERE id > 'n0${this.#below(3)}0'`;
    return `${left} ${operator} ${right} ORDER BY k${this.#direction()}`;
  }

  #distinct(): string {
    const key = this.#column();
    const direction = this.#direction();
    return this.#one(
      `SELECT DISTINCT ON (${key}) ${key} AS k, id FROM content ORDER BY ${key}${direction}, id DESC`,
      `SELECT DISTINCT ${key} AS k, depth FROM content ORDER BY k${direction}, depth`,
    );
  }

  #page(): string {
    const order = `${this.#column()}${this.#direction()}, ${this.#column()}${this.#direction()}, id`;
    return `SELECT id FROM content ORDER BY ${order} LIMIT ${this.#below(15)} OFFSET ${this.#below(20)}`;
  }
}
