import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BesidePostgres } from './beside-postgres.ts';
import { caseLines, readCases, type SqlCase } from './case-file.ts';

const folder = join(import.meta.dirname, 'cases');
const files = readdirSync(folder).filter((name) => name.endsWith('.test'));

let beside: BesidePostgres;

beforeAll(async () => {
  beside = await BesidePostgres.open();
});

afterAll(() => beside.close());

/** Both answers in one, so that a failure shows the statement beside them. */
async function answersOf({ expected, isShared, sql }: SqlCase): Promise<object> {
  const { own, theirs = undefined } = isShared ? await beside.both(sql) : { own: await beside.own(sql) };
  if (expected.kind === 'error') {
    const error = 'error' in own ? own.error : 'no error';
    const isExpected = error.includes(expected.message) ? expected.message : error;
    return { sql, own: isExpected, postgresql: theirs === undefined || 'error' in theirs };
  }
  const lines = caseLines(own, expected.isOrdered);
  return {
    sql,
    own: lines,
    postgresql: theirs === undefined ? lines : caseLines(theirs, expected.isOrdered),
  };
}

describe.each(files)('%s', (name) => {
  const cases = readCases(join(folder, name));

  test('has cases', () => {
    expect(cases.length).toBeGreaterThan(5);
  });

  test.each(cases.map((each) => [each.line, each.sql.split('\n')[0], each] as const))(
    '%i: %s',
    async (_line, _sql, each) => {
      const { expected, sql } = each;
      const answer = expected.kind === 'error' ? expected.message : expected.lines;
      expect(await answersOf(each)).toEqual({
        sql,
        own: answer,
        postgresql: expected.kind === 'error' ? true : answer,
      });
    },
  );
});
