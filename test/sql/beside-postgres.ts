import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { PostgresServer } from '#test/support/postgres-server.ts';
import { fillGarden, gardenTypes } from './garden-nodes.ts';

/** The rows of an answer, each as the list of its values; or the error that came instead. */
export type Answer =
  | { readonly rows: readonly (readonly unknown[])[]; readonly columns: number }
  | { readonly error: string };

interface SqlAnswer {
  readonly columns: readonly string[];
  readonly rows: readonly Readonly<Record<string, unknown>>[];
}

const TABLE = `CREATE TABLE public.${WORKSPACE} (
  id text, path text, name text, node_type text, archetype text, properties jsonb, parent_name text, version int,
  created_at timestamptz, updated_at timestamptz, published_at timestamptz, published_by text, created_by text,
  updated_by text, translations jsonb, owner_id text, relations jsonb, parent_path text, depth int, locale text,
  __revision text, __branch text, __workspace text, __order text, __tree_order text)`;

/** A branch with a garden, and a PostgreSQL with a table of the same rows. */
export class BesidePostgres {
  readonly branch: BranchFixture;
  readonly postgres: PostgresServer;

  private constructor(branch: BranchFixture, postgres: PostgresServer) {
    this.branch = branch;
    this.postgres = postgres;
  }

  static async open(): Promise<BesidePostgres> {
    const [branch, postgres] = await Promise.all([
      openBranch({ nodeTypes: gardenTypes }),
      PostgresServer.start(),
    ]);
    const beside = new BesidePostgres(branch, postgres);
    try {
      await beside.#fill();
      return beside;
    } catch (error) {
      await beside.close();
      throw error;
    }
  }

  async #fill(): Promise<void> {
    const { branch, postgres } = this;
    await fillGarden(branch);
    await branch.buildIndexes();
    const { rows } = await this.#select(`SELECT * FROM '${WORKSPACE}'`);
    await postgres.run(TABLE);
    const text = JSON.stringify(rows).replaceAll("'", "''");
    await postgres.run(
      `INSERT INTO public.${WORKSPACE} SELECT * FROM jsonb_populate_recordset(NULL::public.${WORKSPACE}, '${text}')`,
    );
    await postgres.run(readFileSync(join(import.meta.dirname, 'postgres-dialect.sql'), 'utf8'));
  }

  async close(): Promise<void> {
    await Promise.all([this.branch.close(), this.postgres.stop()]);
  }

  async #select(sql: string): Promise<SqlAnswer> {
    return (await this.branch.query({ type: 'RunSql', sql, parameters: [] })) as SqlAnswer;
  }

  /** What this product answers. @throws any error but one for the caller */
  async own(sql: string): Promise<Answer> {
    try {
      const { columns, rows } = await this.#select(sql);
      return { rows: rows.map((row) => columns.map((column) => row[column])), columns: columns.length };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'INTERNAL_SERVER_ERROR') throw error;
      return { error: error.message };
    }
  }

  /**
   * What PostgreSQL answers, as JSON.
   *
   * @param columns how many columns the answer has; undefined: it is an error that is expected
   */
  async theirs(sql: string, columns: number | undefined): Promise<Answer> {
    if (columns === undefined) {
      const answer = await this.postgres.ask(sql);
      return 'error' in answer ? answer : { rows: answer.lines.map((line) => [line]), columns: 1 };
    }
    const names = Array.from({ length: columns }, (_, index) => `c${index}`);
    const answer = await this.postgres.ask(
      `SELECT json_build_array(${names.join(', ')}) FROM (${sql}\n) AS t(${names.join(', ')})`,
    );
    if ('error' in answer) return answer;
    return { rows: answer.lines.map((line) => JSON.parse(line) as unknown[]), columns };
  }

  /** Both answers. */
  async both(sql: string): Promise<{ readonly own: Answer; readonly theirs: Answer }> {
    const own = await this.own(sql);
    return { own, theirs: await this.theirs(sql, 'columns' in own ? own.columns : undefined) };
  }
}

/** Digits in which numbers are compared: the order of a sum and NUMERIC make a difference behind them. */
const DIGITS = 12;
const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d+?))?0*(?:Z|\+00:00)$/;

/** A value in one form, whoever wrote it. */
export function normalized(value: unknown): unknown {
  if (typeof value === 'number') return value === 0 ? 0 : Number(value.toPrecision(DIGITS));
  if (typeof value === 'bigint') return Number(Number(value).toPrecision(DIGITS));
  if (typeof value === 'string')
    return value.replace(
      TIME,
      (_text, day, time, part) => `${day}T${time}${part === undefined ? '' : `.${part}`}Z`,
    );
  if (Array.isArray(value)) return value.map(normalized);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, part]) => [key, normalized(part)]));
}

/** Rows as lines of JSON, in their order or sorted. */
export function linesOf(answer: Answer, isOrdered: boolean): readonly string[] {
  if ('error' in answer) return [`error: ${answer.error}`];
  const lines = answer.rows.map((row) => JSON.stringify(normalized(row)));
  return isOrdered ? lines : lines.sort();
}
