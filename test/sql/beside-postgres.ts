import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SqlChanged } from '#actors/branch/sql-messages.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { type PostgresAnswer, PostgresServer } from '#test/support/postgres-server.ts';
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

/** What a statement that writes has answered, and the rows that the table has behind it. */
export interface Changed {
  readonly answer: Answer;
  readonly rows: Answer;
}

/** What of a row is compared behind a statement that writes. */
const STATE = 'id, path, node_type, properties, owner_id';
const STATE_COLUMNS = 5;

const NONE: Answer = { rows: [], columns: 0 };

/** The columns that the server sets itself, and what it takes as properties. */
const STAMPS = `ALTER TABLE public.${WORKSPACE} ALTER properties SET NOT NULL,
  ADD CHECK (jsonb_typeof(properties) = 'object');
CREATE FUNCTION dialect.stamped() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
  NEW.version := (coalesce(NEW.version, 0) + 1)::int;
  NEW.name := regexp_replace(NEW.path, '^.*/', '');
  NEW.parent_name := coalesce(nullif(regexp_replace(dialect.parent(NEW.path), '^.*/', ''), ''), '/');
  NEW.depth := dialect.depth(NEW.path);
  IF TG_OP = 'INSERT' THEN
    NEW.properties := coalesce(NEW.properties, '{}');
    NEW.created_at := now();
    NEW.updated_at := NEW.created_at;
  END IF;
  RETURN NEW;
END$$;
CREATE TRIGGER stamps BEFORE INSERT OR UPDATE ON public.${WORKSPACE}
  FOR EACH ROW EXECUTE FUNCTION dialect.stamped()`;

/** Levels of the tree of the garden. */
const LEVELS = 3;
const REMOVE_ORPHANS = `DELETE FROM public.${WORKSPACE} AS a WHERE dialect.parent(a.path) <> '/'
  AND NOT EXISTS (SELECT 1 FROM public.${WORKSPACE} AS b WHERE b.path = dialect.parent(a.path))`;

/** An UPDATE returns rows from before the server stamps them. */
function withoutStamps(sql: string): string {
  const [change, returning] = sql.split(' RETURNING ', 2) as [string, string];
  if (!change.startsWith('UPDATE ')) return sql;
  return `${change} RETURNING ${returning.replaceAll('content.updated_at', 'NULL::timestamptz')}`;
}

function read(answer: PostgresAnswer, columns: number): Answer {
  if ('error' in answer) return answer;
  return { rows: answer.lines.map((line) => JSON.parse(line) as unknown[]), columns };
}

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
    await postgres.run(STAMPS);
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
    return read(answer, columns);
  }

  /**
   * What this product answers to a statement that writes, and which rows the table has behind it. Nothing of it stays.
   *
   * @throws any error but one for the caller
   */
  async ownChange(sql: string): Promise<Changed> {
    const run = async (text: string): Promise<Answer> => {
      const command = {
        type: 'ChangeBySql',
        sql: text,
        parameters: [],
        isTransaction: true,
        dryRun: true,
      } as const;
      const answer = (await this.branch.command(command)) as unknown as SqlChanged;
      const rows = JSON.parse(answer.rows) as readonly Readonly<Record<string, unknown>>[];
      const { columns } = answer;
      return { rows: rows.map((row) => columns.map((column) => row[column])), columns: columns.length };
    };
    try {
      return { answer: await run(sql), rows: await run(`${sql}; SELECT ${STATE} FROM ${WORKSPACE}`) };
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code === 'INTERNAL_SERVER_ERROR') throw error;
      return { answer: { error: error.message }, rows: NONE };
    }
  }

  /**
   * What PostgreSQL answers to a statement that writes, and which rows the table has behind it. Nothing of it stays.
   *
   * @param columns how many columns it returns
   */
  async theirChange(sql: string, columns: number): Promise<Changed> {
    const { postgres } = this;
    const names = Array.from({ length: columns }, (_, index) => `c${index}`).join(', ');
    await postgres.run('BEGIN');
    try {
      const changed = await postgres.ask(
        `WITH t (${names}) AS (${withoutStamps(sql)}\n) SELECT json_build_array(${names}) FROM t`,
      );
      if ('error' in changed) return { answer: changed, rows: NONE };
      // What is below a removed node goes with it.
      for (let level = 0; level < LEVELS; level += 1) await postgres.run(REMOVE_ORPHANS);
      const rows = await postgres.ask(`SELECT json_build_array(${STATE}) FROM public.${WORKSPACE}`);
      return { answer: read(changed, columns), rows: read(rows, STATE_COLUMNS) };
    } finally {
      await postgres.run('ROLLBACK');
    }
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
