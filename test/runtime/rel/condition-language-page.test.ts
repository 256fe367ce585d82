import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compileCondition } from '#runtime/rel/condition.ts';
import { RELATES_WORK, WORK_MAX } from '#runtime/rel/evaluation/evaluation.ts';
import { callerFields, conditionColumns } from '#runtime/rel/evaluation/roots.ts';
import { LEVELS_MAX, NESTING_MAX, RELATES_DEPTH_MAX } from '#runtime/rel/syntax/parse-condition.ts';
import { CONDITION_LENGTH_MAX, TOKENS_MAX } from '#runtime/rel/syntax/tokens.ts';
import { methods } from '#runtime/rel/values/methods.ts';
import { bob, nodeOf, relationsOf } from './condition-world.ts';

const page = readFileSync(join(import.meta.dirname, '../../../docs/interface/condition-language.md'), 'utf8');

/** The caller and the node that the page describes. */
const node = nodeOf({
  properties: {
    title: 'North bed',
    open: true,
    area: 12.5,
    count: 7,
    tags: ['a', 'b'],
    meta: { flag: true },
    created_by: 'forged',
    friend: { 'svc:ref': 'u7' },
  },
});
const relations = relationsOf([
  ['u1', 'KNOWS', 'u2'],
  ['u2', 'KNOWS', 'u3'],
  ['u1', 'TENDS', 'b1'],
]);

function outcome(text: string): string {
  const { value, error } = compileCondition(text).explain(bob, node, relations);
  return error === undefined ? `\`${value}\`` : `error: ${error.message}`;
}

/** The rows of the tables of expressions and their values. */
const examples = page
  .split('\n| Expression | Value |\n|---|---|\n')
  .slice(1)
  .flatMap((table) => table.split('\n\n', 1)[0]!.split('\n'))
  .map((row): [string, string] => {
    const match = /^\| `(.+?)` \| (.+) \|$/.exec(row);
    expect(match, row).not.toBeNull();
    return [match![1]!.replaceAll('\\|', '|'), match![2]!];
  });

it('the page has examples', () => {
  expect(examples.length).toBeGreaterThan(60);
});

it.each(examples)('the example %s has the value %s', (text, value) => {
  expect(outcome(text)).toBe(value);
});

it('the page describes the caller and the node of its examples', () => {
  const described = page
    .split('\n| Node | |\n')[0]!
    .split('\n| Caller | |\n')[1]!
    .concat(page.split('\n| Node | |\n')[1]!.split('\n\n', 1)[0]!);
  const rows = described.split('\n').flatMap((row) => {
    const match = /^\| (`.+`) \| (`.+`) \|$/.exec(row);
    if (match === null) return [];
    const names = [...match[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name!);
    const values = [...match[2]!.matchAll(/`([^`]+)`/g)].map(([quoted]) => quoted);
    return names.map((name, index) => [name, values[index]!] as const);
  });
  expect(rows.length).toBeGreaterThan(12);
  for (const [name, value] of rows) expect(outcome(name), name).toBe(value);
});

it('the conditions at the top of the page have no error', () => {
  const conditions = page.split('```\n')[1]!.trim().split('\n');
  expect(conditions).toHaveLength(3);
  for (const text of conditions) {
    const { error, faults } = compileCondition(text);
    expect([error, faults], text).toEqual([undefined, []]);
  }
});

it('the page names every value, method and bound', () => {
  for (const field of callerFields) expect(page).toContain(`\`auth.${field}\``);
  for (const column of conditionColumns) expect(page).toContain(`\`node.${column}\``);
  for (const name of methods.keys()) expect(page).toMatch(new RegExp(`\`${name}\\(`));
  for (const bound of [CONDITION_LENGTH_MAX, TOKENS_MAX, WORK_MAX])
    expect(page).toContain(bound.toLocaleString('en-US'));
  expect(page).toContain(`at most ${NESTING_MAX} levels`);
  expect(page).toContain(`at most ${LEVELS_MAX - 1} operators`);
  expect(page).toContain(`from 1 to ${RELATES_DEPTH_MAX}`);
  expect(Math.floor(WORK_MAX / RELATES_WORK)).toBe(8);
});
