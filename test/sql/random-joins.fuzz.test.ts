import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BranchFixture, openBranch } from '#test/support/branch-fixture.ts';
import { forcedRows, joinPlans } from '#test/support/forced-tables.ts';
import { PostgresServer } from '#test/support/postgres-server.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { fillJoinTables, joinTables, joinTypes, RandomJoins } from './random-joins.ts';

const SEED = 20_261_128;
const QUERIES = workloadCount(400);

/** Rows above which an answer is not compared. */
const ROWS_MAX = 20_000;

let branch: BranchFixture;
let postgres: PostgresServer;

beforeAll(async () => {
  const anything = { allowed_node_types: [], allowed_root_node_types: [] };
  const workspaces = Object.fromEntries(Object.keys(joinTables).map((name) => [name, anything]));
  [branch, postgres] = await Promise.all([
    openBranch({ nodeTypes: joinTypes, workspaces }),
    PostgresServer.start(),
  ]);
  await fillJoinTables(branch);
  await branch.buildIndexes();
  for (const table of Object.keys(joinTables)) {
    await postgres.run(`CREATE TABLE public.${table} (id text, path text, node_type text, properties jsonb)`);
    const rows = forcedRows(branch, `SELECT id, path, node_type, properties FROM ${table}`);
    const objects = rows.map(([id, path, node_type, properties]) => ({ id, path, node_type, properties }));
    const text = JSON.stringify(objects).replaceAll("'", "''");
    await postgres.run(
      `INSERT INTO public.${table} SELECT * FROM jsonb_populate_recordset(NULL::public.${table}, '${text}')`,
    );
  }
  await postgres.run(readFileSync(join(import.meta.dirname, 'postgres-dialect.sql'), 'utf8'));
  await postgres.run('ANALYZE');
});

afterAll(() => Promise.all([branch.close(), postgres.stop()]));

async function theirRows(sql: string): Promise<readonly string[] | undefined> {
  const columns = sql.match(/ AS c\d+/g)?.map((name) => name.slice(4)) ?? [];
  const answer = await postgres.ask(
    `SELECT json_build_array(${columns.join(', ')}) FROM (${sql}) AS t LIMIT ${ROWS_MAX + 1}`,
  );
  if ('error' in answer) throw new Error(`${sql}: ${answer.error}`);
  if (answer.lines.length > ROWS_MAX) return undefined;
  return answer.lines.map((line) => JSON.stringify(JSON.parse(line))).sort();
}

/** How many rows there are, and the first one that is not the same; undefined: all are. */
function differenceOf(own: readonly string[], theirs: readonly string[]): string | undefined {
  const at = own.findIndex((row, index) => row !== theirs[index]);
  if (at === -1 && own.length === theirs.length) return undefined;
  return `${own.length} rows, not ${theirs.length}; ${own[at]}, not ${theirs[at]}`;
}

let answered = 0;

test('joins of chance have the rows of PostgreSQL, however they are made', async () => {
  const joins = new RandomJoins(SEED);
  for (let number = 0; number < QUERIES; number += 1) {
    const sql = joins.next();
    const expected = await theirRows(sql);
    if (expected === undefined) continue;
    if (expected.length > 0) answered += 1;
    for (const plans of joinPlans) {
      const rows = forcedRows(branch, sql, { plans })
        .map((row) => JSON.stringify(row))
        .sort();
      expect(differenceOf(rows, expected), `query ${number}, ${plans}: ${sql}`).toBeUndefined();
    }
  }
  expect(answered).toBeGreaterThan(QUERIES * 0.3);
});
