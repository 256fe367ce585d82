import { describe, expect, it } from 'vitest';
import { bound, columns, errorOf, shown, step, steps } from './binding.ts';

const nodes = (condition: string, parameters: Parameters<typeof bound>[1] = []) =>
  step(bound(`SELECT id FROM 'g' WHERE ${condition}`, parameters).query.plan, 'nodes');

describe('conditions that say what is read', () => {
  it('are taken out of WHERE', () => {
    const { plan } = bound(`SELECT id FROM 'g' WHERE __branch = 'dev' AND id = 'a' AND locale = 'de'`).query;
    expect(shown(step(plan, 'filter').predicate)).toBe('=(r0.c0, a)');
    expect(step(plan, 'nodes')).toMatchObject({ branch: 'dev', revision: undefined, locales: ['de'] });
    expect(steps(bound(`SELECT id FROM 'g' WHERE __branch = 'dev'`).query.plan)).toEqual(['nodes']);
  });

  it('may be literals and parameters, on either side', () => {
    expect(nodes(`'dev' = g.__branch`).branch).toBe('dev');
    expect(nodes('__branch = $1', ['dev']).branch).toBe('dev');
    expect(nodes(`locale IN ('de', $1, 'de')`, ['en']).locales).toEqual(['de', 'en']);
  });

  it('leave the own branch as it is', () => {
    expect(nodes(`__branch = 'main'`).branch).toBeUndefined();
  });

  it('read a bare revision as that of its milliseconds', () => {
    expect(nodes(`__revision = '1700-2'`).revision).toBe('1700-2');
    expect(nodes('__revision = 1700').revision).toBe('1700-0');
    expect(nodes(`__revision = '1700'`).revision).toBe('1700-0');
    expect(nodes('__revision = $1', [1_700_000_000_000]).revision).toBe('1700000000000-0');
    expect(errorOf(`SELECT id FROM 'g' WHERE __revision = 'x'`)).toMatch(
      /^'x' is not a revision.*\(line 1, column 26\)/,
    );
  });

  it('must not contradict each other', () => {
    expect(errorOf(`SELECT id FROM 'g' WHERE __branch = 'a' AND __branch = 'b'`)).toMatch(
      /^Contradictory conditions on __branch \(line 1, column \d+\)/,
    );
    expect(errorOf(`SELECT id FROM 'g' WHERE locale = 'a' AND locale IN ('b', 'c')`)).toMatch(
      /^Contradictory/,
    );
    expect(nodes(`locale IN ('a', 'b') AND g.locale IN ('b', 'c')`).locales).toEqual(['b']);
    expect(nodes(`__branch = 'a' AND __branch = 'a'`).branch).toBe('a');
  });

  it('are ordinary conditions elsewhere', () => {
    for (const condition of [
      `__branch = 'a' OR id = 'b'`,
      `NOT __branch = 'a'`,
      `__branch = NULL`,
      `__branch = name`,
      `locale NOT IN ('a')`,
      `locale IN ('a', name)`,
      `__branch <> 'a'`,
    ]) {
      expect(nodes(condition)).toMatchObject({ branch: undefined, revision: undefined, locales: undefined });
      expect(steps(bound(`SELECT id FROM 'g' WHERE ${condition}`).query.plan)).toEqual(['filter', 'nodes']);
    }
  });

  it('are about the table that they name, or about all', () => {
    const sides = (condition: string) => {
      const { left, right } = step(
        bound(`SELECT a.id FROM 'g' a, 'p' b WHERE ${condition}`).query.plan,
        'join',
      );
      return [left, right].map((side) => (side.kind === 'nodes' ? side.branch : '?'));
    };
    expect(sides(`a.__branch = 'dev'`)).toEqual(['dev', undefined]);
    expect(sides(`__branch = 'dev'`)).toEqual(['dev', 'dev']);
    expect(sides(`a.__branch = 'dev' AND b.__branch = 'old'`)).toEqual(['dev', 'old']);
  });

  it('are about tables of the schema too, but these have no languages', () => {
    const { plan } = bound(`SELECT name FROM NodeTypes WHERE __branch = 'dev' AND __revision = 5`).query;
    expect(step(plan, 'schema')).toMatchObject({ branch: 'dev', revision: '5-0' });
    expect(errorOf(`SELECT name FROM NodeTypes WHERE locale = 'de'`)).toMatch(/^Column not found: locale/);
  });

  it('are ordinary conditions on columns of other queries', () => {
    const sql = `SELECT id FROM (SELECT id, locale FROM 'g' WHERE locale IN ('de', 'en')) x WHERE locale = 'de'`;
    const { plan } = bound(sql).query;
    expect(steps(plan)).toEqual(['filter', 'project', 'nodes']);
    expect(step(plan, 'nodes').locales).toEqual(['de', 'en']);
    expect(errorOf(`SELECT g.id FROM 'g', (SELECT locale FROM 'g') x WHERE locale = 'de'`)).toMatch(
      /^Ambiguous column reference: locale/,
    );
  });

  it('are no conditions of ON', () => {
    const { plan } = bound(`SELECT a.id FROM 'g' a LEFT JOIN 'p' b ON b.__branch = 'dev'`).query;
    expect(step(plan, 'nodes').branch).toBeUndefined();
    expect(columns(`SELECT __branch FROM 'g' WHERE __branch = 'dev'`)).toEqual(['__branch TEXT']);
  });
});

describe('predicates of the hierarchy', () => {
  const where = (condition: string, parameters: Parameters<typeof bound>[1] = []): string =>
    shown(step(bound(`SELECT id FROM 'g' WHERE ${condition}`, parameters).query.plan, 'filter').predicate);

  it('are about the path of the table', () => {
    expect(where(`CHILD_OF('/beds')`)).toBe('CHILD_OF(r0.c1, /beds)');
    expect(where(`child_of('/beds/')`)).toBe('CHILD_OF(r0.c1, /beds)');
    expect(where(`CHILD_OF('/')`)).toBe('CHILD_OF(r0.c1, /)');
    expect(where(`DESCENDANT_OF('/beds')`)).toBe('DESCENDANT_OF(r0.c1, /beds, null)');
    expect(where(`DESCENDANT_OF($1, 2)`, ['/beds'])).toBe('DESCENDANT_OF(r0.c1, /beds, 2)');
    expect(where(`CHILD_OF(g.path, '/beds')`)).toBe('CHILD_OF(r0.c1, /beds)');
    expect(where(`DESCENDANT_OF(path, '/beds', 3)`)).toBe('DESCENDANT_OF(r0.c1, /beds, 3)');
    expect(where(`REFERENCES('p:/ana')`)).toBe('REFERENCES(r0.c5, p:/ana)');
    expect(where(`REFERENCES(g.properties, 'svc:access_control:/users/a')`)).toMatch(/^REFERENCES\(r0\.c5/);
  });

  it('need to know the table', () => {
    expect(errorOf(`SELECT a.id FROM 'g' a, 'p' b WHERE CHILD_OF('/x')`)).toMatch(
      /^CHILD_OF is ambiguous: write CHILD_OF\(table\.path, …\)/,
    );
    expect(columns(`SELECT a.id FROM 'g' a, 'p' b WHERE CHILD_OF(b.path, '/x')`)).toEqual(['id TEXT']);
    expect(errorOf(`SELECT 1 WHERE CHILD_OF('/x')`)).toMatch(/^CHILD_OF needs a table with a column path/);
    expect(
      columns(`WITH t AS (SELECT path AS path FROM 'g') SELECT path FROM t WHERE CHILD_OF('/x')`),
    ).toEqual(['path PATH']);
  });

  it('take literals and parameters', () => {
    expect(errorOf(`SELECT id FROM 'g' WHERE CHILD_OF(name)`)).toMatch(
      /^CHILD_OF needs a literal or a parameter/,
    );
    expect(errorOf(`SELECT id FROM 'g' WHERE CHILD_OF()`)).toMatch(/^Invalid argument count for CHILD_OF/);
    expect(errorOf(`SELECT id FROM 'g' WHERE CHILD_OF('/a', '/b')`)).toMatch(
      /^Invalid argument count for CHILD_OF/,
    );
    expect(errorOf(`SELECT id FROM 'g' WHERE CHILD_OF('beds')`)).toMatch(/\(line 1, column 35\)$/);
    for (const levels of ['0', '-1', '1.5', 'version'])
      expect(errorOf(`SELECT id FROM 'g' WHERE DESCENDANT_OF('/a', ${levels})`)).toMatch(
        /^The levels of DESCENDANT_OF must be|^Type mismatch/,
      );
  });

  it('refer to a workspace and a path', () => {
    for (const bad of ['/ana', 'p', 'p:ana', ''])
      expect(errorOf(`SELECT id FROM 'g' WHERE REFERENCES('${bad}')`)).toMatch(
        /^REFERENCES target must be in 'workspace:\/path' format \(line 1, column 26\)/,
      );
  });

  it('stand where their table can find them', () => {
    expect(errorOf(`SELECT REFERENCES('p:/ana') FROM 'g'`)).toMatch(
      /^REFERENCES is only allowed in WHERE and ON/,
    );
    expect(errorOf(`SELECT id FROM 'g' ORDER BY REFERENCES('p:/a')`)).toMatch(/^REFERENCES is only allowed/);
    expect(where(`REFERENCES('p:/a') OR id = 'x'`)).toMatch(/^or\(REFERENCES/);
    const two = `FROM 'g' a, 'p' b WHERE`;
    expect(errorOf(`SELECT 1 ${two} REFERENCES(a.properties, 'p:/a') OR b.id = 'x'`)).toMatch(
      /^REFERENCES can only be combined with conditions on the same table/,
    );
    expect(errorOf(`SELECT 1 FROM 'g' WHERE REFERENCES('p:/a') OR EXISTS (SELECT 1)`)).toMatch(
      /^REFERENCES can only be combined/,
    );
    expect(columns(`SELECT 1 ${two} REFERENCES(a.properties, 'p:/a') AND b.id = 'x'`)).toHaveLength(1);
    expect(errorOf(`SELECT 1 FROM (SELECT properties FROM 'g') x WHERE REFERENCES('p:/a')`)).toMatch(
      /^REFERENCES needs the column properties of a workspace/,
    );
    expect(errorOf(`SELECT 1 FROM 'g' WHERE REFERENCES(g.relations, 'p:/a')`)).toMatch(
      /^REFERENCES needs the column/,
    );
  });

  it('do not stand at a side of an outer join that they would not choose', () => {
    const join = (type: string, on: string, condition = 'TRUE'): string =>
      `SELECT 1 FROM 'g' a ${type} JOIN 'p' b ON ${on} WHERE ${condition}`;
    const a = `REFERENCES(a.properties, 'p:/x')`;
    const b = `REFERENCES(b.properties, 'p:/x')`;
    const refused = /^REFERENCES cannot be used for a table that an outer join keeps or extends/;
    expect(columns(join('LEFT', b))).toHaveLength(1);
    expect(columns(join('RIGHT', a))).toHaveLength(1);
    expect(columns(join('LEFT', 'TRUE', a))).toHaveLength(1);
    expect(errorOf(join('LEFT', a))).toMatch(refused);
    expect(errorOf(join('RIGHT', b))).toMatch(refused);
    expect(errorOf(join('FULL', a))).toMatch(refused);
    expect(errorOf(join('LEFT', 'TRUE', b))).toMatch(refused);
    expect(errorOf(join('FULL', 'TRUE', a))).toMatch(refused);
  });
});
