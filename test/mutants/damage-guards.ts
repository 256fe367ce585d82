import type { GuardMutant } from './guard-mutant.ts';

const keptSegmentTest = ['test/runtime/actor/damage/cut-kept-segment.test.ts'];
const keptCheckTest = ['test/server/check/kept-segments.slow.test.ts'];
const checkJournalTest = ['test/server/check/check-journal.test.ts'];
const madeActorsTest = ['test/runtime/actor/catalogue/made-actors.test.ts'];
const fateTest = ['test/server/salvage/missing-fate.test.ts'];
const containmentTest = ['test/runtime/embedded/recovery/journal-containment.test.ts'];
const repairTest = ['test/runtime/check/repair-branch.test.ts'];
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
    from: 'lost.filter((one) => !isDecided(earlier, one))',
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
    only: 'finds nothing wrong with a missing file of locks that the kept segments create',
  },
  {
    guard: 'the former place of a lost node does not show what was there before it',
    file: 'runtime/check/repair-branch.ts',
    from: 'yield { table, key, value: new Uint8Array(0) };',
    to: 'yield { table, key, value: null };',
    tests: repairTest,
  },
  {
    guard: 'no former place names a node of which no state from then is left',
    file: 'runtime/check/repair-branch.ts',
    from: 'if (value.length > 0) return true;',
    to: 'return true;',
    tests: repairTest,
  },
  {
    guard: 'a rebuilt catalogue takes an actor for removed only where that is recorded',
    file: 'server/salvage/missing-fate.ts',
    from: 'isOfOne(owner) && isUnder(actor, owner)',
    to: 'isOfOne(owner)',
    tests: fateTest,
  },
  {
    guard: 'what was put away of an earlier actor of an id is no record of the removal of a later one',
    file: 'server/salvage/missing-fate.ts',
    from: 'isOfOne(owner) && isUnder(actor, owner)',
    to: 'isUnder(actor, owner)',
    tests: fateTest,
  },
  {
    guard: 'a registry of an earlier time does not show that something was removed',
    file: 'server/salvage/missing-fate.ts',
    from: ' || (store.headOf(registry)?.sequence ?? 0) < created;',
    to: ';',
    tests: fateTest,
  },
  {
    guard: 'a registry with a damaged page does not show that something was removed',
    file: 'server/salvage/missing-fate.ts',
    from: '!isWhole || ',
    to: '',
    tests: fateTest,
  },
  {
    guard: 'a rebuilt catalogue lists what a registry names',
    file: 'server/salvage/missing-fate.ts',
    from: "if (isNamed === true) return { kind: 'lost' };",
    to: '',
    tests: fateTest,
  },
  {
    guard: 'a rebuilt catalogue lists what a lost registry may name',
    file: 'server/salvage/missing-fate.ts',
    from: 'isListed: isNamed === undefined',
    to: 'isListed: false',
    tests: fateTest,
  },
  {
    guard: 'a rebuilt catalogue does not list again what may have been removed',
    file: 'server/salvage/missing-fate.ts',
    from: 'if (hole === undefined) return',
    to: 'if (hole !== undefined) return',
    tests: fateTest,
  },
  {
    guard: 'the end of what a decision kept is missed, also when nothing was written since',
    file: 'runtime/embedded/recovery/journal-recovery.ts',
    from: '...missingBetween(before, keptThrough + 1, undefined)',
    to: '',
    tests: containmentTest,
  },
  {
    guard: 'a check and a salvage take nothing of a segment of another journal',
    file: 'runtime/embedded/recovery/journal-survey.ts',
    from: 'segment.isForeign = isForeign(segment, before);',
    to: '',
    tests: containmentTest,
  },
  {
    guard: 'a segment that continues one of another journal is of that journal',
    file: 'runtime/embedded/recovery/journal-recovery.ts',
    from: 'chain.equals(before.chain) === before.segment.isForeign) {',
    to: '!chain.equals(before.chain) && !before.segment.isForeign) {',
    tests: containmentTest,
  },
  {
    guard: 'a journal is not continued with the chain of another one',
    file: 'runtime/embedded/recovery/journal-recovery.ts',
    from: ' === lastSequence && !before.segment.isForeign ?',
    to: ' === lastSequence ?',
    tests: containmentTest,
  },
  {
    guard: 'a segment behind an expected hole is not taken for one of another journal',
    file: 'runtime/embedded/recovery/journal-containment.ts',
    from: 'if (before.segment.lastSequence + 1 !== header.firstSequence) return false;',
    to: '',
    tests: ['test/runtime/actor/damage/damaged-twice.test.ts'],
  },
];
