import type { GuardMutant } from './guard-mutant.ts';

const keptSegmentTest = ['test/runtime/actor/damage/cut-kept-segment.test.ts'];
const keptCheckTest = ['test/server/check/kept-segments.slow.test.ts'];
const checkJournalTest = ['test/server/check/check-journal.test.ts'];
const madeActorsTest = ['test/runtime/actor/catalogue/made-actors.test.ts'];
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
  {
    guard: 'a check compares no shard with records that others in a hole may have changed',
    file: 'server/check/check-journal.ts',
    from: 'if (journal.holes.some(({ first }) => sequence < first && first <= position)) continue;',
    to: '',
    tests: checkJournalTest,
  },
  {
    guard: 'a check compares a shard that ends before a hole with the records before it',
    file: 'server/check/check-journal.ts',
    from: 'sequence < first && first <= position',
    to: 'sequence < first',
    tests: checkJournalTest,
  },
  {
    guard: 'records that left beside damaged ones are missed',
    file: 'runtime/actor/catalogue/made-actors.ts',
    from: 'return next <= last;',
    to: 'return next === first;',
    tests: madeActorsTest,
  },
  {
    guard: 'an actor without a file is lost where records of it have left the journal',
    file: 'runtime/actor/catalogue/made-actors.ts',
    from: 'return row?.floor === 0 && how',
    to: 'return row !== undefined && how',
    tests: madeActorsTest,
  },
  {
    guard: 'a fork without a file is lost where its source has advanced',
    file: 'runtime/actor/catalogue/made-actors.ts',
    from: "row?.floor === 0 && how?.kind !== 'fork';",
    to: 'row?.floor === 0;',
    tests: madeActorsTest,
  },
  {
    guard: 'an actor of which the journal has all records is not named as missing',
    file: 'runtime/actor/catalogue/made-actors.ts',
    from: "return row?.floor === 0 && how?.kind !== 'fork';",
    to: 'return false;',
    tests: keptCheckTest,
  },
];
