import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import { StatementGrammar } from '#runtime/sql-syntax/statement-grammar.ts';
import { type TokenizedStatement, tokenize } from '#runtime/sql-syntax/tokenize.ts';
import { visit } from '#runtime/sql-syntax/visitor.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { arbitraryStatement } from './arbitrary-statements.ts';

/** Reads constants of lists as everything else, by the rules of the grammar. */
class RulesOnly extends StatementGrammar {
  protected override takeConstants(): void {}
  protected override takeConstantRows(): void {}
}

const byRules = new RulesOnly();
const quickly = new StatementGrammar();

/** What a grammar makes of a text: the tree, or the error with its place and excerpt. */
function outcome(grammar: StatementGrammar, text: string): Statement | object | undefined {
  try {
    const statement = [...tokenize(text)].find((part): part is TokenizedStatement => part !== undefined);
    return statement === undefined ? undefined : grammar.read(statement, text);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { message: error.message, details: error.details };
  }
}

const constants = [
  '1',
  '-1',
  "'a'",
  "'it''s'",
  '$1',
  'NULL',
  'TRUE',
  "'{}'::jsonb",
  '1.5e3',
  '$$x$$',
  '007',
  '-9223372036854775808',
  '9223372036854775807',
];
const others = [
  'a',
  'f(1, 2)',
  '1 + 1',
  '(1)',
  '(1, 2)',
  '(SELECT 1)',
  "'a'::varchar(3)",
  "'a'::double precision",
  '$1::int[]',
  '- -1',
  "1 'a'",
  '',
  '*',
  '1e999',
  'NOT TRUE',
  '-$1',
  "'a' 'b'",
  'VALUES (1)',
  ')',
  '(',
  ',',
  ']',
  'DEFAULT',
  '-',
  '::int',
  '1::',
];
const item = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...constants) },
  { weight: 1, arbitrary: fc.constantFrom(...others) },
);
const list = fc.array(item, { maxLength: 6 }).map((items) => items.join(', '));
const rows = fc.array(list, { maxLength: 4 }).map((all) => all.map((row) => `(${row})`).join(', '));
const around = fc.constantFrom<(list: string, rows: string) => string>(
  (items) => `SELECT a IN (${items}) FROM 'g'`,
  (items) => `SELECT POSITION('a' IN (${items}))`,
  (items) => `SELECT ARRAY[${items}], (${items}), f(${items})`,
  (items) => `SELECT b NOT IN (${items}) AND values (${items})`,
  (_, all) => `INSERT INTO 'g' (a, b) VALUES ${all}`,
  (_, all) => `INSERT INTO 'g' (a, b) VALUES ${all} RETURNING id`,
  (_, all) => `VALUES ${all} ORDER BY 1`,
  (_, all) => `SELECT values ${all}`,
  (items, all) => `UPSERT INTO g (a) SELECT * FROM (VALUES ${all}) t WHERE a IN (${items})`,
  (items, all) => `DELETE FROM 'g' WHERE a IN (${items}) ${all}`,
);

test('lists of constants are read as the rules read them: trees, errors and their places', () => {
  fc.assert(
    fc.property(around, list, rows, (text, items, all) => {
      const sql = text(items, all);
      expect(outcome(quickly, sql)).toEqual(outcome(byRules, sql));
    }),
    { numRuns: workloadCount(6_000) },
  );
});

test('so are all other statements, also when a part of them is missing', () => {
  fc.assert(
    fc.property(arbitraryStatement, fc.double({ min: 0, max: 1, noNaN: true }), (statement, cut) => {
      const whole = printStatement(statement);
      for (const sql of [whole, whole.slice(0, Math.floor(whole.length * cut))])
        expect(outcome(quickly, sql)).toEqual(outcome(byRules, sql));
    }),
    { numRuns: workloadCount(800) },
  );
});

const gaps = ['', ' ', '\n', ' -- , (\n', ' /* ; , ( */ ', '\t'];
const listed = ["'a, (b'", "'; c'", '$x$ , ( $x$', '1', "'''('", '$2', '12.5'];

test('a text that is cut for the lexer is read as a whole', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...listed), fc.constantFrom(...gaps)), {
        minLength: 20,
        maxLength: 60,
      }),
      (parts) => {
        const repeated = Array.from({ length: 4_000 }, (_, index) => parts[index % parts.length]!);
        const sql = `SELECT 1 IN (${repeated.map(([part, gap]) => `${gap}${part}${gap}`).join(',')})`;
        const found: string[] = [];
        visit(parseStatement(sql), (node) => {
          if (node.kind === 'literal' || node.kind === 'parameter')
            found.push(sql.slice(node.span.start, node.span.end));
        });
        expect(found.slice(1)).toEqual(repeated.map(([part]) => part));
      },
    ),
    { numRuns: workloadCount(20) },
  );
});
