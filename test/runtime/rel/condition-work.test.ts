import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { compileCondition } from '#runtime/rel/condition.ts';
import { WORK_MAX } from '#runtime/rel/evaluation/evaluation.ts';
import { tooLong } from '#runtime/rel/ports.ts';
import { bob, nodeOf, relationsOf } from './condition-world.ts';

const SIZE = 10_000;
/** Number of keys of the large objects. */
const KEYS = 2_000;
const items = Array.from({ length: SIZE }, (_, index) => index);
const node = nodeOf({
  name: 'a'.repeat(SIZE),
  path: '/a'.repeat(SIZE / 2),
  properties: {
    items,
    copy: [...items],
    words: items.map(() => 'word'),
    object: Object.fromEntries(items.slice(0, KEYS).map((index) => [`k${index}`, index])),
    objectCopy: Object.fromEntries(items.slice(0, KEYS).map((index) => [`k${index}`, index])),
    text: 'b'.repeat(SIZE),
  },
});

/** The least work with which a condition has a value. */
function leastWork(text: string): number {
  const bound = compileCondition(text).bind(bob);
  let [low, high] = [0, WORK_MAX];
  expect(bound.holdsWithin(high, node), text).toBeDefined();
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (bound.holdsWithin(middle, node) === undefined) low = middle + 1;
    else high = middle;
  }
  return low;
}

describe('the work of an evaluation', () => {
  it.each([
    ['node.name.length()', 'node.name', SIZE],
    ["node.name.contains('b')", 'node.name', SIZE],
    ['node.name.startsWith(node.name)', 'node.name', SIZE],
    ['node.name.endsWith(node.name)', 'node.name', SIZE],
    ['node.name.toLowerCase()', 'node.name', 2 * SIZE],
    ['node.name.toUpperCase()', 'node.name', 2 * SIZE],
    ['node.name.trim()', 'node.name', 2 * SIZE],
    ['node.name.substring(1)', 'node.name', SIZE],
    ['node.name == node.text', 'node.text', SIZE],
    ['node.name < node.text', 'node.text', SIZE],
    ['node.name + node.name', 'node.name', 2 * SIZE],
    ['node.path.parent(5000)', 'node.path', SIZE],
    ['node.path.ancestor(5000)', 'node.path', SIZE],
    ['node.path.depth()', 'node.path', SIZE],
    ["node.path.descendantOf('/b')", 'node.path', SIZE],
    ['node.path.childOf(node.path)', 'node.path', 2 * SIZE],
    ["'/b'.ancestorOf(node.path)", 'node.path', SIZE],
    ['node.text', 'node.name', SIZE],
    ['node.items', 'node.name', SIZE],
    ['node.object', 'node.name', KEYS],
    ['node.items.contains(-1)', 'node.items', SIZE],
    ['node.items.indexOf(-1)', 'node.items', SIZE],
    ['node.words.join()', 'node.words', 4 * SIZE],
    ['node.object.length()', 'node.object', KEYS],
    ['node.items == node.copy', 'node.items && node.copy', SIZE],
    ['node.object == node.objectCopy', 'node.object && node.objectCopy', KEYS],
  ])('counts what %s looks at', (text, base, least) => {
    expect(leastWork(text) - leastWork(base)).toBeGreaterThanOrEqual(least);
  });

  it.each([
    ['node.name.isEmpty()'],
    ["node.name.startsWith('b')"],
    ["node.name == 'b'"],
    ['node.id && node.name'],
  ])('does not count the length of what %s does not look at', (text) => {
    expect(leastWork(text)).toBeLessThan(100);
  });

  it('ends: a condition that takes more does not hold, also when it is negated', () => {
    const long = nodeOf({ name: 'a'.repeat(WORK_MAX) });
    for (const text of ["node.name.contains('b')", "!node.name.contains('b')", 'node.name.length() > 0']) {
      const condition = compileCondition(text);
      expect(condition.holds(bob, long)).toBe(false);
      expect(condition.explain(bob, long).error).toMatchObject({
        kind: 'work',
        message: 'The condition takes too much work for this node',
        line: 1,
      });
      expect(condition.bind(bob).holds(long)).toBe(false);
      for (const workMax of [Number.POSITIVE_INFINITY, Number.NaN, 0, -1])
        expect(condition.bind(bob).holdsWithin(workMax, long)).toBeUndefined();
    }
  });

  it('is counted for all parts together', () => {
    const text = Array.from({ length: 100 }, (_, index) => `node.name.contains('${index}')`).join(' || ');
    expect(compileCondition(text).explain(bob, node).error?.kind).toBe('work');
  });

  it('does not grow with the square of the lengths', () => {
    const repeated = nodeOf({
      name: `${'a'.repeat(60_000)}b`,
      properties: { end: `${'a'.repeat(20_000)}c` },
    });
    const condition = compileCondition('node.name.contains(node.end)');
    expect(condition.explain(bob, repeated)).toEqual({ holds: false, value: 'false' });
    const found = nodeOf({ name: `${'a'.repeat(60_000)}b`, properties: { end: `${'a'.repeat(20_000)}b` } });
    expect(condition.explain(bob, found)).toEqual({ holds: true, value: 'true' });
  });

  it('is counted for constants as well, and they are left to the evaluation', () => {
    const roles = Array.from({ length: 60_000 }, (_, index) => `role${index}`);
    const condition = compileCondition("auth.roles.contains('none') || node.id == 'b1'");
    const bound = condition.bind({ ...bob, roles });
    expect(bound.decided).toBeUndefined();
    expect(bound.explain(nodeOf()).error?.kind).toBe('work');
    expect(condition.holds({ ...bob, roles }, nodeOf())).toBe(false);
  });

  it('limits the questions for relations', () => {
    const ask = (count: number): string =>
      Array.from({ length: count }, (_, index) => `'a' RELATES 'b${index}' VIA 'X'`).join(' || ');
    const none = relationsOf([]);
    expect(compileCondition(ask(7)).explain(bob, node, none)).toEqual({ holds: false, value: 'false' });
    expect(compileCondition(ask(9)).explain(bob, node, none).error?.kind).toBe('work');
  });
});

describe('a long property', () => {
  it('is not decoded when the condition could not look at it', () => {
    const asked: number[] = [];
    const large = {
      ...nodeOf(),
      property: (_: string, lengthMax: number): JsonValue | typeof tooLong => {
        asked.push(lengthMax);
        return tooLong;
      },
    };
    const condition = compileCondition('!node.large');
    expect(condition.holds(bob, large)).toBe(false);
    expect(condition.explain(bob, large).error?.kind).toBe('work');
    expect(condition.bind(bob).holdsWithin(1_000, large)).toBeUndefined();
    expect(asked.at(-1)).toBeLessThan(1_000);
    expect(Math.max(...asked)).toBeLessThanOrEqual(WORK_MAX);
  });
});
