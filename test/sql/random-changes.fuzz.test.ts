import { afterAll, beforeAll, expect, test } from 'vitest';
import { presentPart, workloadCount } from '#test/support/workload-count.ts';
import { BesidePostgres, type Changed, linesOf } from './beside-postgres.ts';
import { RandomChanges } from './random-changes.ts';
import { reduceStatement } from './reduce-statement.ts';

const SEED = 20_261_128 + presentPart();
const CHANGES = workloadCount(600);

let beside: BesidePostgres;

beforeAll(async () => {
  beside = await BesidePostgres.open();
});

afterAll(() => beside.close());

let written = 0;

function linesOfBoth({ answer, rows }: Changed): readonly string[] {
  if ('error' in answer) return ['error', answer.error];
  return [...linesOf(answer, false), '----', ...linesOf(rows, false)];
}

interface Difference {
  /** A smaller statement must show the same kind, or it would be an error of the reduction. */
  readonly kind: string;
  readonly own: readonly string[];
  readonly postgresql: readonly string[];
}

function kindOf({ answer }: Changed): string {
  return 'error' in answer ? (/^\w+ \w+/.exec(answer.error)?.[0] ?? 'error') : 'rows';
}

function isMissing({ answer }: Changed): boolean {
  return 'error' in answer && /^Node (?:at path|with id) '[^']+' not found$/.test(answer.error);
}

/** What each has alone, or undefined when both do the same. */
async function difference(sql: string, columns: number): Promise<Difference | undefined> {
  const [own, theirs] = [await beside.ownChange(sql), await beside.theirChange(sql, columns)];
  if ('error' in own.answer && 'error' in theirs.answer) return undefined;
  // An UPDATE that names one node has to find it.
  if (isMissing(own) && 'rows' in theirs.answer && theirs.answer.rows.length === 0) return undefined;
  if ('rows' in own.answer && own.answer.rows.length > 0) written += 1;
  const [mine, others] = [linesOfBoth(own), linesOfBoth(theirs)];
  if (JSON.stringify(mine) === JSON.stringify(others)) return undefined;
  return {
    kind: `${kindOf(own)} ${kindOf(theirs)}`,
    own: mine.filter((line) => !others.includes(line)),
    postgresql: others.filter((line) => !mine.includes(line)),
  };
}

test('statements of chance write and return what PostgreSQL does', async () => {
  const changes = new RandomChanges(SEED);
  for (let number = 0; number < CHANGES; number += 1) {
    const { columns, sql } = changes.next();
    const found = await difference(sql, columns);
    if (found === undefined) continue;
    const reduced = await reduceStatement(
      sql,
      async (smaller) => (await difference(smaller, columns))?.kind === found.kind,
    );
    expect({ sql: reduced, ...(await difference(reduced, columns)) }, `statement ${number}: ${sql}`).toBe(
      'the same',
    );
  }
  // Statements that fail or match nothing tell little.
  expect(written).toBeGreaterThan(CHANGES * 0.4);
});
