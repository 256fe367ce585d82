import { expect, it } from 'vitest';
import { WaitLines } from '#actors/locks/wait-lines.ts';

const person = (key: string, name: string) => ({ key, name });

it('serves each queue in order of arrival, and lets any waiter leave', () => {
  const lines = new WaitLines<ReturnType<typeof person>>();
  const [first, second, third] = ['first', 'second', 'third'].map((name) => person('a', name)) as [
    ReturnType<typeof person>,
    ReturnType<typeof person>,
    ReturnType<typeof person>,
  ];
  const other = person('b', 'other');
  for (const each of [first, other, second, third]) lines.join(each);
  expect([lines.size, lines.waitingFor('a'), lines.waitingFor('c')]).toEqual([4, 3, 0]);
  expect([lines.leave(second), lines.leave(second)]).toEqual([true, false]);
  expect([lines.next('a'), lines.next('a'), lines.next('a')]).toEqual([first, third, undefined]);
  expect(lines.clear()).toEqual([other]);
  expect(lines.size).toBe(0);
});
