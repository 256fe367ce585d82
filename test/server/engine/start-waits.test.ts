import { describe, expect, it } from 'vitest';
import { OptionError } from '#runtime/config/option.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { StartWaits } from '#server/engine/start-waits.ts';
import { NotThereYetError } from '#cluster/nats/not-there-yet.ts';
import { TestClock } from '#test/support/test-clock.ts';

interface Line {
  readonly message: string;
  readonly facts: unknown;
}

/** Lets a second pass, and everything happen that follows from it. */
async function second(clock: TestClock): Promise<void> {
  clock.advance(1_000);
  await new Promise((resolve) => setImmediate(resolve));
}

function world() {
  const clock = new TestClock();
  const lines: Line[] = [];
  const warn = (message: string, facts: unknown): number => lines.push({ message, facts });
  const waits = new StartWaits({ clock, random: systemRandom, log: { warn } as unknown as Log });
  return { clock, lines, waits };
}

describe('a wait of a start', () => {
  it('continues until the step succeeds, and reports the reason at intervals', async () => {
    const { clock, lines, waits } = world();
    let isThere = false;
    let tries = 0;
    const waited = waits.until('the moon', async () => {
      tries += 1;
      if (!isThere) throw new NotThereYetError('no moon: look up');
      return 'here';
    });
    await new Promise((resolve) => setImmediate(resolve));
    for (let each = 0; each < 9; each += 1) await second(clock);
    expect(lines).toEqual([
      { message: 'waiting for the moon', facts: { reason: 'no moon: look up', waitedS: 0 } },
    ]);
    for (let each = 0; each < 10; each += 1) await second(clock);
    expect(lines).toHaveLength(2);
    // Retries back off: many at first would be a load on servers that are just starting.
    expect(tries).toBeLessThan(20);
    isThere = true;
    for (let each = 0; each < 3; each += 1) await second(clock);
    expect(await waited).toBe('here');
  });

  it('waits for a service that cannot answer now', async () => {
    const { clock, waits } = world();
    const answers = [() => Promise.reject(new ServiceError('OVERLOADED')), () => Promise.resolve(7)];
    const waited = waits.until('it', () => (answers.shift() as () => Promise<number>)());
    for (let each = 0; each < 3; each += 1) await second(clock);
    expect(await waited).toBe(7);
  });

  it.each([new OptionError(['wrong address']), new ServiceError('FORBIDDEN'), new TypeError('a defect')])(
    'ends with an error that waiting cannot resolve: %s',
    async (error) => {
      const { lines, waits } = world();
      await expect(waits.until('it', () => Promise.reject(error))).rejects.toBe(error);
      expect(lines).toEqual([]);
    },
  );
});
