import { describe, expect, it } from 'vitest';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { LoopFixture, OWN_TABLE, put } from '#test/support/loop-fixture.ts';
import { TestClock } from '#test/support/test-clock.ts';

const KEYS = 12_000;

/** A clock that every look moves on by a millisecond, so that work is as long as it looks at the clock often. */
class LookedAtClock extends TestClock {
  override monotonicMs(): number {
    this.advance(1);
    return super.monotonicMs();
  }
}

function opened(): LoopFixture {
  const fixture = new LoopFixture({ clock: new LookedAtClock(), limits: { batchBytesMax: 1 << 30 } });
  fixture.log.isOpen = true;
  return fixture;
}

function putMany(turn: Turn): string {
  for (let number = 0; number < KEYS; number++)
    turn.put(OWN_TABLE, `key ${(number * 7919) % KEYS}`, Buffer.from(`${number}`));
  return 'done';
}

describe('a batch with many changes', () => {
  it('is encoded and sorted in slices', async () => {
    const fixture = opened();
    expect(await fixture.submit(putMany)).toBe('done');
    // A look for each 128 changes that are encoded, and as many while they are sorted.
    expect(fixture.slices.turn).toBeGreaterThan(KEYS / 128 / 8);
    expect(fixture.log.records).toHaveLength(1);
    expect(fixture.log.records[0]?.entries[0]?.writes).toHaveLength(KEYS);
    const found = [...fixture.loop.view.range(OWN_TABLE, { start: 'key ', end: 'key ~' })];
    expect(found).toHaveLength(KEYS);
    expect(found.map(({ key }) => key)).toEqual(found.map(({ key }) => key).sort());
  });

  it('is encoded in slices also when a few of them have many bytes', async () => {
    const fixture = opened();
    const values = [1, 2, 3].map((number) => Buffer.alloc(3 * 1024 * 1024, number));
    const command = (turn: Turn): string => {
      for (const [number, value] of values.entries()) turn.put(OWN_TABLE, `key ${number}`, value);
      return 'done';
    };
    expect(await fixture.submit(command)).toBe('done');
    // A look for each half MiB.
    expect(fixture.slices.turn).toBeGreaterThan(1);
    for (const [number, value] of values.entries())
      expect(value.equals(fixture.loop.view.get(OWN_TABLE, `key ${number}`) as Uint8Array)).toBe(true);
    expect(fixture.log.records[0]?.entries[0]?.writes).toHaveLength(values.length);
  });

  it('is taken back in slices when its command fails', async () => {
    const fixture = opened();
    await fixture.submit(put('key 5', 'before'));
    const { turn } = fixture.slices;
    const failing = function* (turn: Turn): Generator<undefined, void> {
      putMany(turn);
      yield;
      throw new ServiceError('VALIDATION_FAILED');
    };
    await expect(fixture.submit(failing)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(fixture.slices.turn - turn).toBeGreaterThan(KEYS / 128 / 16);
    expect(fixture.read('key 5')).toBe('before');
    expect(fixture.read('key 6')).toBeUndefined();
    expect(fixture.forgotten).toBe(1);
  });
});
