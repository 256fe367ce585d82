import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CallIds, SLOTS_MAX } from '#cluster/router/call-ids.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { CallId } from '#runtime/commit/behaviour.ts';

it('gives no two calls under way to an actor the same slot, and every call a number above all before', () => {
  const step = fc.record({
    actor: fc.constantFrom('a', 'b'),
    ends: fc.option(fc.nat(20), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const ids = new CallIds(systemRandom);
      const running: { readonly actor: string; readonly id: CallId }[] = [];
      let most = 0;
      let number = 0;
      for (const { actor, ends } of steps) {
        const ended = ends === undefined ? [] : running.splice(ends, 1);
        for (const each of ended) ids.release(each.actor, each.id);
        const id = ids.take(actor);
        expect(id.number).toBeGreaterThan(number);
        number = id.number;
        running.push({ actor, id });
        const slots = running.filter((each) => each.actor === actor).map((each) => each.id.slot);
        expect(new Set(slots).size).toBe(slots.length);
        most = Math.max(most, slots.length);
        // As few as were ever needed at once.
        expect(id.slot).toBeLessThan(most);
      }
      for (const each of running) ids.release(each.actor, each.id);
      expect(ids.size).toBe(0);
    }),
  );
});

it('takes no more calls to one actor than there are slots', () => {
  const ids = new CallIds(systemRandom);
  const taken = Array.from({ length: SLOTS_MAX }, () => ids.take('a'));
  for (let time = 0; time < 2; time += 1)
    expect(() => ids.take('a')).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
  ids.release('a', taken[7] as CallId);
  expect(ids.take('a').slot).toBe(7);
  expect(ids.take('b').slot).toBe(0);
});

it('is another session in every life', () => {
  const [one, two] = [new CallIds(systemRandom).take('a'), new CallIds(systemRandom).take('a')];
  expect(one.session).toMatch(/^[0-9a-f]{16}$/);
  expect(two.session).not.toBe(one.session);
});
