import { readFileSync } from 'node:fs';
import { type Answer, normalized } from './beside-postgres.ts';

/** One record of a case file. */
export interface SqlCase {
  /** The line it begins at, for messages. */
  readonly line: number;
  readonly sql: string;
  /** Whether PostgreSQL is asked too. Not where the dialect differs from it: the file says why. */
  readonly isShared: boolean;
  readonly expected:
    | { readonly kind: 'rows'; readonly isOrdered: boolean; readonly lines: readonly string[] }
    /** A part of the message. */
    | { readonly kind: 'error'; readonly message: string };
}

/**
 * Reads a case file, in the form of sqllogictest: records with an empty line between them.
 *
 * ```
 * # a comment
 * skipif postgresql
 * query nosort
 * SELECT 1, NULL, ''
 * ----
 * 1	NULL	(empty)
 *
 * statement error
 * SELECT 1 / 0
 * ----
 * Division by zero
 * ```
 *
 * A row is a line, its values have a tab between them. `rowsort`: the order of the rows does not matter.
 */
export function readCases(path: string): readonly SqlCase[] {
  const cases: SqlCase[] = [];
  let line = 1;
  for (const record of readFileSync(path, 'utf8').split('\n\n')) {
    const lines = record.split('\n').filter((text) => text !== '' && !text.startsWith('#'));
    if (lines.length > 0) cases.push(readCase(lines, line, path));
    line += record.split('\n').length + 1;
  }
  return cases;
}

function readCase(lines: readonly string[], line: number, path: string): SqlCase {
  const isShared = lines[0] !== 'skipif postgresql';
  const [head, ...rest] = isShared ? lines : lines.slice(1);
  const bar = rest.indexOf('----');
  if (bar < 0) throw new Error(`${path}:${line}: a record has no line ----`);
  const sql = rest.slice(0, bar).join('\n');
  const answer = rest.slice(bar + 1);
  if (head === 'statement error') {
    return { line, sql, isShared, expected: { kind: 'error', message: answer.join('\n') } };
  }
  if (head !== 'query nosort' && head !== 'query rowsort') throw new Error(`${path}:${line}: ${head}`);
  return {
    line,
    sql,
    isShared,
    expected: { kind: 'rows', isOrdered: head === 'query nosort', lines: answer },
  };
}

/** The lines of an answer, as a case file has them. */
export function caseLines(answer: Answer, isOrdered: boolean): readonly string[] {
  if ('error' in answer) return [`error: ${answer.error}`];
  const lines = answer.rows.map((row) => row.map(valueText).join('\t'));
  return isOrdered ? lines : lines.sort();
}

function valueText(value: unknown): string {
  if (value === null) return 'NULL';
  if (value === '') return '(empty)';
  const text = typeof value === 'string' ? String(normalized(value)) : JSON.stringify(normalized(value));
  return text.replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}
