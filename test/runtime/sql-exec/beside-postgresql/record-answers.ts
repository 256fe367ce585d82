/**
 * Records what PostgreSQL answers to statements of chance, into `answers.jsonl` beside this file: the
 * rows of the workspace, then one answer a line.
 *
 * Run: PGHOST=… PGPORT=… PGUSER=… node test/runtime/sql-exec/beside-postgresql/record-answers.ts, with a database of the locale C.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SomeStatements } from './some-statements.ts';

const SEED = 20_261_127;
const ROWS = 30;
const STATEMENTS = 240;

function psql(input: string): string {
  return execFileSync('psql', ['-XAtq'], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
}

function literal(value: unknown): string {
  return value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${value}'`;
}

const some = new SomeStatements(SEED);
const rows = some.rows(ROWS);
const columns = ['id', 'name', 'node_type', 'version', 'depth'] as const;
const values = rows.map((row) => `(${columns.map((name) => literal(row[name])).join(', ')})`);
psql(`DROP TABLE IF EXISTS content;
CREATE TABLE content (id text, name text, node_type text, version int, depth int);
INSERT INTO content VALUES ${values.join(',\n')};`);

const answers: { sql: string; rows: unknown[] }[] = [];
while (answers.length < STATEMENTS) {
  const sql = some.next();
  const answer = psql(`SELECT coalesce(json_agg(t), '[]') FROM (${sql}) t;`).trim();
  // A frame whose end is before its start is refused.
  if (answer === '') continue;
  answers.push({ sql, rows: (JSON.parse(answer) as object[]).map((row) => Object.values(row)) });
}
const lines = [rows, ...answers].map((line) => `${JSON.stringify(line)}\n`);
writeFileSync(join(import.meta.dirname, 'answers.jsonl'), lines.join(''));
