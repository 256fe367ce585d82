import type { GuardMutant } from './guard-mutant.ts';

const keptSegmentTest = ['test/runtime/actor/damage/cut-kept-segment.test.ts'];
const damagedLogTest = ['test/runtime/actor/damage/damaged-log.test.ts'];

/** The safety guards of a journal whose segments are kept because of damage. */
export const damageGuards: readonly GuardMutant[] = [
  {
    guard: 'a kept segment ends where the expected hole behind it begins',
    file: 'runtime/embedded/recovery/journal-recovery.ts',
    from: 'if (policy.contains && before !== undefined && continuedAt !== undefined)',
    to: 'if (policy.contains && before !== undefined && continuedAt === firstSequence)',
    tests: keptSegmentTest,
  },
  {
    guard: 'records that are lost of a kept segment after the decision are lost',
    file: 'runtime/embedded/recovery/journal-damage.ts',
    from: 'lost.filter((one) => !isDecided(note, one))',
    to: 'lost.filter(({ last }) => last > decided)',
    tests: keptSegmentTest,
  },
  {
    guard: 'an actor whose removal has left the journal is not listed as one that lost writes',
    file: 'runtime/actor/damage/damaged-log.ts',
    from: 'if (listed.size > 0 && !listed.has(actor) && (madeAt ?? firstAt) <= appliedThrough) continue;',
    to: '',
    tests: damagedLogTest,
  },
  {
    guard: 'an actor is taken for a removed one only where a catalogue lists the others',
    file: 'runtime/actor/damage/damaged-log.ts',
    from: 'if (listed.size > 0 && !listed.has(actor)',
    to: 'if (!listed.has(actor)',
    tests: damagedLogTest,
  },
];
