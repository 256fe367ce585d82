import { expect, it } from 'vitest';
import { compileCondition } from '#runtime/rel/condition.ts';
import type { Caller } from '#runtime/rel/ports.ts';
import { bob, nodeOf, relationsOf } from './condition-world.ts';

const properties = {
  open: true,
  area: 12.5,
  count: 7,
  title: 'North bed',
  tags: ['a', 'b'],
  empty: [],
  nothing: null,
  created_by: 'forged',
  meta: { flag: true, deep: { list: [1, [2]] }, 'svc:key': 1 },
  big: 9007199254740993n,
  huge: 123456789012345678901234567890n,
  giant: 1e300,
  friend: { 'svc:ref': 'u7', 'svc:workspace': 'people' },
  friends: [{ 'svc:ref': 'u7' }, { 'svc:ref': 'u8' }],
  link: { 'svc:url': 'https://example.com/a', 'svc:title': 'A' },
  file: { uuid: 'f1', name: 'a.png', mime_type: 'image/png', size: 5, url: '/f1' },
  place: { type: 'Point', coordinates: [1, 2] },
  places: { type: 'GeometryCollection', geometries: [] },
  notAPlace: { type: 'Point' },
  block: { element_type: 'x:Text', text: 'hidden' },
  blocks: [{ element_type: 'x:Text' }, 5],
  body: { uuid: 'c1', items: [{ element_type: 'x:Text' }] },
  day: '2026-11-27',
  price: '12.50',
};
/** The node of the tables of expressions and values. */
export const bed = nodeOf({ properties });
/** Its relations. */
export const bedRelations = relationsOf([
  ['u1', 'KNOWS', 'u2'],
  ['u2', 'KNOWS', 'u3'],
  ['u1', 'TENDS', 'b1'],
]);

/** The value of a condition as text, or `error: <message>`; bound and unbound, and with what it holds. */
export function outcome(text: string, caller: Caller = bob): string {
  const condition = compileCondition(text);
  const bound = condition.bind(caller);
  const explained = condition.explain(caller, bed, bedRelations);
  expect(condition.holds(caller, bed, bedRelations), text).toBe(explained.holds);
  expect(bound.holds(bed, bedRelations), text).toBe(explained.holds);
  const explainedBound = bound.explain(bed, bedRelations);
  expect(explainedBound.value, text).toBe(explained.value);
  if (explained.error === undefined) return explained.value!;
  expect(explained.holds).toBe(false);
  expect(explainedBound.error?.kind).toBe(explained.error.kind);
  return `error: ${explained.error.message}`;
}

/** Rows of text and value. */
export function table(title: string, rows: readonly (readonly [string, string])[]): void {
  it.each(rows)(`${title}: %s`, (text, value) => {
    expect(outcome(text)).toBe(value);
  });
}
