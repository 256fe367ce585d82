import { expect, it } from 'vitest';
import { ExampleValues } from './example-values.ts';

const id = (n: number) => `01a44700-0000-7000-8000-00000000000${n}`;
const node = { id: id(1), name: 'a', at: '2027-03-14T15:09:26.000Z', parents: [id(2)] };

it('learns what ids and revisions are here, and gives them to later requests', () => {
  const values = new ExampleValues();
  const answer = { id: id(7), name: 'a', at: '2030-01-01T00:00:00.001Z', parents: [id(8)] };
  expect(values.differences(node, answer, false)).toEqual([]);
  expect(values.differences({ head: '1805036966000-0' }, { head: '1900000000000-2' }, false)).toEqual([]);
  expect(values.here({ node_id: id(1), text: `${id(2)}:1`, at: ['1805036966000-0'], n: 1 })).toEqual({
    node_id: id(7),
    text: `${id(8)}:1`,
    at: ['1900000000000-2'],
    n: 1,
  });
});

it('finds what differs, what is missing, and what is more', () => {
  const values = new ExampleValues();
  const at = (example: unknown, answer: unknown, isExcerpt = false) =>
    values.differences(example, answer, isExcerpt).map((text) => text.split(' ')[0]);
  expect(at(node, { ...node, name: 'b' })).toEqual(['/name']);
  expect(at(node, { ...node, more: 1 })).toEqual(['/more']);
  expect(at({ ...node, more: 1 }, node)).toEqual(['/more']);
  expect(at({ list: [1, 2] }, { list: [1, 2, 3] })).toEqual(['/list']);
  expect(at({ list: [1, 2] }, { list: [1, 3] })).toEqual(['/list/1']);
  expect(at({ flag: true }, { flag: 'true' })).toEqual(['/flag']);
  expect(at({ text: 'x' }, { text: 1 })).toEqual(['/text']);
  expect(at([], {})).toEqual(['']);
  expect(at({}, [])).toEqual(['']);
});

it('takes one id for another one only once', () => {
  const values = new ExampleValues();
  expect(values.differences([id(1), id(1)], [id(7), id(7)], false)).toEqual([]);
  expect(values.differences([id(1)], [id(8)], false)).toHaveLength(1);
});

it('lets an answer have more than its excerpt, but no less', () => {
  const values = new ExampleValues();
  const answer = { list: [{ a: 1 }, { a: 2, b: 3 }], text: 'one two', more: 1 };
  expect(values.differences({ list: [{ a: 2 }], text: 'two' }, answer, true)).toEqual([]);
  expect(values.differences({ list: [{ a: 3 }] }, answer, true)).toHaveLength(1);
  expect(values.differences({ text: 'three' }, answer, true)).toHaveLength(1);
});
