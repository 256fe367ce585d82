import { afterAll, beforeAll, expect, test } from 'vitest';
import { presentPart, workloadCount } from '#test/support/workload-count.ts';
import { BesidePostgres, linesOf } from './beside-postgres.ts';
import { RandomQueries } from './random-queries.ts';
import { reduceStatement } from './reduce-statement.ts';

const SEED = 20_261_127 + presentPart();
const QUERIES = workloadCount(1_600);

let beside: BesidePostgres;

beforeAll(async () => {
  beside = await BesidePostgres.open();
});

afterAll(() => beside.close());

interface Difference {
  readonly own: readonly string[];
  readonly postgresql: readonly string[];
}

let answered = 0;

/** Both answers, or undefined when they are the same. */
async function difference(sql: string): Promise<Difference | undefined> {
  const { own, theirs } = await beside.both(sql);
  if ('error' in own && 'error' in theirs) return undefined;
  if ('rows' in own && own.rows.length > 0) answered += 1;
  // The rows of a query without an order at its end may come in any.
  const isOrdered = / ORDER BY [^()]*(?:\([^()]*\)[^()]*)*$/.test(sql);
  const [mine, other] = [linesOf(own, isOrdered), linesOf(theirs, isOrdered)];
  return JSON.stringify(mine) === JSON.stringify(other) ? undefined : { own: mine, postgresql: other };
}

/** What kind a difference is: a smaller query must show the same, or it would be an error of the reduction. */
function kindOf({ own, postgresql }: Difference): string {
  return [own, postgresql].map(([line]) => /^error: \w+ \w+/.exec(line ?? '')?.[0] ?? 'rows').join(' ');
}

test('queries of chance have the answers of PostgreSQL', async () => {
  const queries = new RandomQueries(SEED);
  for (let number = 0; number < QUERIES; number += 1) {
    const sql = queries.next();
    const found = await difference(sql);
    if (found === undefined) continue;
    const reduced = await reduceStatement(sql, async (smaller) => {
      const still = await difference(smaller);
      return still !== undefined && kindOf(still) === kindOf(found);
    });
    expect({ sql: reduced, ...(await difference(reduced)) }, `query ${number}: ${sql}`).toBe('the same');
  }
  // Queries that fail or find nothing tell little.
  expect(answered).toBeGreaterThan(QUERIES * 0.4);
});
