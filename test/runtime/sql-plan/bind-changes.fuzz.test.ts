import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bindChange } from '#runtime/sql-plan/bind/data/bind-change.ts';
import { isPoint, routedBranch } from '#runtime/sql-plan/bind/data/point.ts';
import type { BoundChange } from '#runtime/sql-plan/bound/bound-change.ts';
import type { DataStatement } from '#runtime/sql-syntax/nodes/data-nodes.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { arbitraryExpression } from '../sql-syntax/arbitrary-statements.ts';
import { dataStatement, scopeWith } from './binding.ts';
import { arbitraryChange, changeParameters, conditionText, conjunction, nestings } from './random-changes.ts';

type Choosing = Exclude<DataStatement, { kind: 'insert' }>;

const scope = scopeWith(changeParameters);

/** What a statement is bound to, or the text of its error. */
function outcome(statement: DataStatement, source: string): BoundChange | string {
  try {
    return bindChange(statement, source, scope);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code === 'WORKSPACE_NOT_FOUND') return error.message;
    expect(error.code).toBe('VALIDATION_FAILED');
    expect(error.details).toMatchObject({ line: 1, column: expect.any(Number) });
    // The place is another one in another text.
    return error.message.replace(/ \(line 1, column \d+\)\n[\s\S]*$/, '');
  }
}

function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

/** What was bound as a text, with all queries that it makes. */
function textOf(bound: BoundChange | string): string {
  if (typeof bound === 'string') return bound;
  const ids = ['i', 'j'];
  const queries = [
    bound.kind === 'insert'
      ? undefined
      : [bound.matchedAmong(ids), bound.idsAfter('i', 3), bound.idsAfter(undefined, 3)],
    bound.returning?.statementFor(ids),
  ];
  return JSON.stringify([bound, queries], (_key, value) => (typeof value === 'bigint' ? `${value}n` : value));
}

test('exactly conditions that name one node by a literal or a parameter are points', () => {
  fc.assert(
    fc.property(conjunction, nestings, fc.boolean(), (parts, nesting, isUpdate) => {
      const where = conditionText(parts, nesting);
      const sql = isUpdate ? `UPDATE g SET name = 'n' WHERE ${where}` : `DELETE FROM 'g' WHERE ${where}`;
      const statement = dataStatement(sql) as Choosing;
      const choosing = parts.filter((part) => part.is !== 'branch');
      const expected = choosing.length === 1 && choosing[0]?.is === 'point';
      expect(isPoint(statement)).toBe(expected);
      const branch = parts.some((part) => part.is === 'branch') ? 'dev' : undefined;
      expect(routedBranch(statement, sql, scope)).toBe(branch);
      const bound = outcome(statement, sql);
      if (typeof bound === 'string' && bound.startsWith('__branch cannot choose nodes')) {
        expect(parts.some(({ text }) => text.startsWith('__branch <>'))).toBe(true);
      } else if (typeof bound === 'string') {
        // Nothing is left that chooses nodes.
        expect(choosing).toEqual([]);
        expect(bound).toMatch(/requires a WHERE clause$/);
      } else if (bound.kind !== 'insert') {
        expect(bound.point !== undefined).toBe(expected);
        expect(bound.branch).toBe(branch);
        expect(parts.some(({ text }) => text.startsWith('__branch <>'))).toBe(false);
      }
    }),
    { numRuns: workloadCount(2_000) },
  );
});

test('every statement that writes is bound or refused with the place, and means the same when it is printed', () => {
  let all = 0;
  let boundOnes = 0;
  fc.assert(
    fc.property(arbitraryChange, (sql) => {
      // Trees are given again for the same text, so nobody may change them.
      const statement = frozen(dataStatement(sql));
      const bound = outcome(statement, sql);
      all += 1;
      if (typeof bound !== 'string') boundOnes += 1;
      const printed = printStatement(statement);
      expect(textOf(outcome(dataStatement(printed), printed))).toBe(textOf(bound));
    }),
    { numRuns: workloadCount(3_000) },
  );
  expect(boundOnes / all).toBeGreaterThan(0.1);
});

test('any expression may stand anywhere in a statement that writes', () => {
  const span = { start: 0, end: 0 };
  const table = { name: 'g', isBare: false, span };
  const column = fc.constantFrom('name', 'properties', 'path').map((name) => ({ name, span }));
  fc.assert(
    fc.property(arbitraryExpression, arbitraryExpression, column, (first, second, written) => {
      const returning = { items: [{ kind: 'item' as const, expression: second, alias: undefined }], span };
      const assignments = [{ column: written, value: first }];
      outcome({ kind: 'update', table, assignments, where: second, returning, span }, ' ');
      outcome({ kind: 'delete', table, where: first, returning, span }, ' ');
    }),
    { numRuns: workloadCount(4_000) },
  );
});
