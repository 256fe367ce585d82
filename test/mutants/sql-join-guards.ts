import type { GuardMutant } from './guard-mutant.ts';

const planTests = ['test/actors/branch/sql/join-plans.test.ts'];
const mergeTests = ['test/runtime/sql-exec/operators/joins/merge-join-operator.test.ts'];
const lookupTests = ['test/runtime/sql-exec/operators/joins/lookup-operator.test.ts'];

/** The safety guards of joins and look-ups by keys. */
export const sqlJoinGuards: readonly GuardMutant[] = [
  {
    guard: 'what look-ups take decides only for a caller who may read every node',
    file: 'actors/branch/sql/tables/key-lookup.ts',
    from: 'isMeasured: table.seesAll,',
    to: 'isMeasured: true,',
    tests: planTests,
  },
  {
    guard: 'a change to reading all rows gives no row twice',
    file: 'runtime/sql-exec/operators/joins/lookup-operator.ts',
    from: 'if (key !== null && !known.has(key))',
    to: 'if (key !== null)',
    tests: lookupTests,
  },
  {
    guard: 'look-ups that take more than a scan are given up',
    file: 'runtime/sql-exec/operators/joins/lookup-operator.ts',
    from: 'if (lookup.isMeasured && expected > scanCost) return done;',
    to: '',
    tests: lookupTests,
  },
  {
    guard: 'a side whose lonely rows are wanted is not looked up',
    file: 'runtime/sql-exec/lowering/join-method.ts',
    from: "type === 'inner' || type === 'left' ? yield* joinLookup",
    to: "type !== 'right' ? yield* joinLookup",
    tests: planTests,
  },
  {
    guard: 'inner joins with a condition that may fail keep their order',
    file: 'runtime/sql-exec/lowering/join-order.ts',
    from: '  if (!conditions.every(neverFails)) return undefined;\n',
    to: '',
    tests: planTests,
  },
  {
    guard: 'types without an index are looked at besides',
    file: 'actors/branch/sql/tables/index-paths.ts',
    from: '...without.map((nodeType)',
    to: '...without.slice(1).map((nodeType)',
    tests: planTests,
  },
  {
    guard: 'the rows of one key of a merge are counted as memory',
    file: 'runtime/sql-exec/operators/joins/merge-join-operator.ts',
    from: '      this.keep(kept);\n      bytes += kept;\n',
    to: '',
    tests: mergeTests,
  },
];
