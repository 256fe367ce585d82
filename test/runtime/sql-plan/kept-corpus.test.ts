import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { bindStatement } from '#runtime/sql-plan/bind/bind-statement.ts';
import type { BoundStatement } from '#runtime/sql-plan/bound/bound-statement.ts';
import { KeptStatements } from '#runtime/sql-plan/kept/kept-statements.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { Query } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { parseStatements } from '#runtime/sql-syntax/parse-statements.ts';
import { readCases } from '#test/sql/case-file.ts';

const folder = join(import.meta.dirname, '../../sql/cases');

/** The queries of all case files, with their texts. */
function queries(): readonly (readonly [string, Query])[] {
  const found: (readonly [string, Query])[] = [];
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.test')))
    for (const { sql } of readCases(join(folder, name))) {
      try {
        for (const { statement } of parseStatements(sql))
          if (statement.kind === 'query-statement') found.push([sql, statement.query]);
      } catch {
        // A case about bad syntax.
      }
    }
  return found;
}

/** @param hasWorkspaces whether every name is that of a workspace; otherwise none is */
function scopeOf(
  hasWorkspaces: boolean,
  nowMicroseconds: bigint,
  parameters: readonly JsonValue[],
): StatementScope {
  return {
    workspaceNamed: (name) => (hasWorkspaces ? name : undefined),
    parameters,
    nowMicroseconds,
    user: 'ada',
    branch: 'main',
    version: '1',
    caller: { id: 'a', node: null, may: () => true, resolve: (value) => value },
  };
}

function shown(make: () => BoundStatement): string {
  try {
    return JSON.stringify(make(), (key, value) =>
      typeof value === 'bigint' ? `${value}n` : key === 'open' ? undefined : value,
    );
  } catch (error) {
    return (error as Error).message;
  }
}

describe('the statements of the case files', () => {
  it('are bound alike whether they are kept or not, also when workspaces come and go between', () => {
    const kept = new KeptStatements<BoundStatement>();
    const all = queries();
    expect(all.length).toBeGreaterThan(300);
    for (const [sql, query] of all) {
      for (const [hasWorkspaces, now] of [
        [true, 1n],
        [true, 2n],
        [false, 3n],
        [true, 4n],
      ] as const) {
        const scope = scopeOf(hasWorkspaces, now, []);
        const again = shown(() =>
          kept.of(query, sql, scope, (noting) => bindStatement(query, sql, noting)).bound(),
        );
        expect(again).toBe(shown(() => bindStatement(query, sql, scope)));
      }
    }
  });
});
