import { describe, expect, it } from 'vitest';
import { REFUSAL_SHOWN_MS, Refusals } from '#cluster/seal/refusals.ts';
import { TestClock } from '#test/support/test-clock.ts';

function refusals() {
  const clock = new TestClock();
  const noticed: string[] = [];
  let count = 0;
  const made = new Refusals(clock, {
    refused: () => {
      count += 1;
    },
    noticed: (kind, reason, sender) => void noticed.push(`${kind} ${reason} ${sender}`),
  });
  return { made, clock, noticed, count: () => count };
}

describe('what was refused', () => {
  it('is counted each time, logged once, and reported as an alarm for some minutes', () => {
    const { clock, count, made, noticed } = refusals();
    made.note('call', 'forged', 'm2');
    made.note('call', 'forged', 'm2');
    made.note('message', 'unsigned', '');
    expect([count(), noticed]).toEqual([3, ['call forged m2', 'message unsigned nobody']]);
    expect(made.alarms).toEqual([
      'refused 2 calls with a wrong signature, claimed sender m2',
      'refused 1 message not signed, claimed sender nobody',
    ]);
    clock.advance(REFUSAL_SHOWN_MS + 1);
    expect(made.alarms).toEqual([]);
    made.note('call', 'forged', 'm2');
    expect(noticed).toHaveLength(3);
  });

  it('is no alarm when paused members and connections cause it as well', () => {
    const { count, made, noticed } = refusals();
    made.note('call', 'late', 'm2');
    made.note('call', 'misdirected', 'm2');
    expect([count(), noticed.length, made.alarms]).toEqual([2, 2, []]);
  });

  it('bounds the memory and escapes the terminal output of made-up sender names', () => {
    const { made, noticed } = refusals();
    for (let each = 0; each < 100; each++)
      made.note('call', 'forged', `\u001b[31m${each}${'x'.repeat(1000)}`);
    expect(made.alarms.length).toBeLessThanOrEqual(9);
    expect(noticed.length).toBeLessThanOrEqual(9);
    for (const alarm of made.alarms) expect(alarm).toMatch(/^[\x20-\x7e]{1,120}$/);
    expect(made.alarms.at(-1)).toContain('claimed sender others');
  });
});
