import { describe, expect, test } from 'vitest';
import { SqlInMemory } from '#test/support/sql-in-memory.ts';

/** As many operands of a chain, and as deep a nesting, as the parser lets through. */
const CHAIN = 390;
const NESTING = 99;

const chain = (operand: string, operator: string) => Array(CHAIN).fill(operand).join(` ${operator} `);
const nested = (open: string, core: string, close: string) =>
  open.repeat(NESTING) + core + close.repeat(NESTING);
const text = 'a'.repeat(CHAIN);

/** Every phase walks through trees by recursion: none of these may exhaust the stack. */
const statements: readonly (readonly [string, unknown])[] = [
  [`SELECT ${chain('1', '+')}`, CHAIN],
  [`SELECT ${chain('depth', '+')} FROM content`, CHAIN],
  [`SELECT ${chain('name', '||')} FROM content`, text],
  [`SELECT ${'NOT '.repeat(CHAIN)}TRUE`, true],
  [`SELECT ${'- '.repeat(CHAIN)}depth FROM content`, 1],
  [`SELECT ${chain('TRUE', '=')}`, true],
  [`SELECT name${' IS NULL'.repeat(CHAIN)} FROM content`, false],
  [`SELECT name${'::text'.repeat(CHAIN)} FROM content`, 'a'],
  [`SELECT '{}'::jsonb${" -> 'a'".repeat(CHAIN - 10)}`, null],
  [`SELECT sum(${chain('depth', '+')}) FROM content GROUP BY ${chain('depth', '+')}`, CHAIN],
  [`SELECT sum(depth) OVER (ORDER BY ${chain('depth', '+')}) FROM content`, 1],
  [`SELECT name FROM content ORDER BY ${chain('name', '||')}`, 'a'],
  [`SELECT name FROM content WHERE ${Array(480).fill('depth = 1').join(' AND ')}`, 'a'],
  [`SELECT ${nested('(', '1', ')')}`, 1],
  [`SELECT ${nested('UPPER(', 'name', ')')} FROM content`, 'A'],
  [`SELECT ${nested('COALESCE(NULL, ', 'name', ')')} FROM content`, 'a'],
  [`SELECT ${nested('CASE WHEN depth = 1 THEN ', '1', ' END')} FROM content`, 1],
  [`SELECT ${'(SELECT '.repeat(90)}1${')'.repeat(90)}`, 1],
  [`SELECT ${'EXISTS (SELECT 1 WHERE '.repeat(90)}TRUE${')'.repeat(90)}`, true],
  [`SELECT count(*) FROM ${'(SELECT name FROM '.repeat(60)}content${') AS t'.repeat(60)}`, 1],
  [Array(190).fill('SELECT 1').join(' UNION '), 1],
];

describe('the deepest statements', () => {
  test.each(statements.map(([sql, value]) => [sql.slice(0, 60), sql, value] as const))(
    '%s',
    (_start, sql, value) => {
      const workspaces = { content: [{ path: '/a', name: 'a', depth: 1 }] };
      expect(new SqlInMemory({ workspaces }).json(sql)).toEqual([[value]]);
      expect(new SqlInMemory({ workspaces }).explain(sql)).toContain('Plan');
    },
  );
});
