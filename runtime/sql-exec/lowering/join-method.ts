import type { JoinPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { Equality } from './equalities.ts';
import { bestLookup, type EqualExpression, turned, type UsableLookup } from './lookups.ts';
import type { PhysicalPlan } from './physical-plan.ts';

/** A look-up of rows of one side of a join by an equality. */
export type JoinLookup = UsableLookup & { readonly by: EqualExpression & { readonly equality: Equality } };

/** How two inputs are joined. */
export type JoinMethod =
  | { readonly kind: 'nested-loop' | 'hash'; readonly keepsLeft: boolean }
  /** Both sides come in the order of an equality. */
  | { readonly kind: 'merge'; readonly by: Equality }
  /** A hash join whose other side finds its rows by the keys of the kept one, if these are few enough. */
  | {
      readonly kind: 'lookup';
      readonly keepsLeft: boolean;
      readonly lookup: JoinLookup;
      /** Whether they are expected to be few enough. */
      readonly isExpected: boolean;
    };

/**
 * Chooses how two inputs are joined, by estimates of their sizes. The choice between looking rows up and reading all is made
 * again when the keys are known.
 *
 * A side can be looked up if only its rows with a partner are wanted. Where that is expected to be best, it is chosen; else a
 * merge, which keeps nothing, where both sides come in order anyway; else a hash table of the smaller side.
 */
export function* chooseJoin(
  left: PhysicalPlan,
  right: PhysicalPlan,
  type: JoinPlan['type'],
  equalities: readonly Equality[],
): Generator<undefined, JoinMethod> {
  const isLeftSmaller = left.rows < right.rows;
  if (equalities.length === 0) return { kind: 'nested-loop', keepsLeft: isLeftSmaller };
  const ofRight =
    type === 'inner' || type === 'left' ? yield* joinLookup(right, equalities, 'right') : undefined;
  const ofLeft =
    type === 'inner' || type === 'right' ? yield* joinLookup(left, equalities, 'left') : undefined;
  const saved = {
    right: savedBy(ofRight, left.rows, right),
    left: savedBy(ofLeft, right.rows, left),
  };
  if (ofRight !== undefined && saved.right > 0 && saved.right >= saved.left)
    return { kind: 'lookup', keepsLeft: true, lookup: ofRight, isExpected: true };
  if (ofLeft !== undefined && saved.left > 0)
    return { kind: 'lookup', keepsLeft: false, lookup: ofLeft, isExpected: true };
  const by = equalities.find((equality) => areInOrder(left, right, equality));
  if (by !== undefined) return { kind: 'merge', by };
  const keepsLeft = isLeftSmaller || (left.rows === right.rows && ofRight !== undefined);
  const lookup = keepsLeft ? ofRight : ofLeft;
  if (lookup === undefined) return { kind: 'hash', keepsLeft };
  return { kind: 'lookup', keepsLeft, lookup, isExpected: false };
}

function* joinLookup(
  plan: PhysicalPlan,
  equalities: readonly Equality[],
  side: 'left' | 'right',
): Generator<undefined, JoinLookup | undefined> {
  if (plan.lookups === undefined) return undefined;
  const keys = equalities.map((equality) => {
    const { condition, isTurned } = equality;
    const isFirst = (side === 'left') !== isTurned;
    return {
      expression: equality[side],
      equals: isFirst ? condition.function : turned(condition.function),
      equality,
    };
  });
  return yield* bestLookup(plan, keys);
}

/** Nanoseconds that looking up is expected to save. @param keys about how many are looked up */
function savedBy(lookup: JoinLookup | undefined, keys: number, { lookups }: PhysicalPlan): number {
  if (lookup === undefined || lookups === undefined) return 0;
  return lookups.cost - keys * lookup.found.keyCost;
}

/** Whether both sides come in the order of an equality. */
function areInOrder(left: PhysicalPlan, right: PhysicalPlan, by: Equality): boolean {
  return (
    left.sortedBy !== undefined &&
    right.sortedBy !== undefined &&
    left.layout.slotOf(by.left) === left.sortedBy &&
    right.layout.slotOf(by.right) === right.sortedBy &&
    by.left.type.name === by.right.type.name
  );
}
