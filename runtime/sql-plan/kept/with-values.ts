import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import type { BoundConstant } from '../bound/bound-statement.ts';
import type { OpenValue } from '../bound/open-value.ts';

/** Parts of bound statements that have open values in them, or none; a part is never changed. */
const knownOpen = new WeakMap<object, boolean>();

/** The values of one run. */
export interface RunValues {
  /** The value of a parameter. @param slot its number, from 1 */
  ofSlot(slot: number): SqlValue;
  /** Whether binding has looked at a parameter: then the statement has its value already. */
  isFixed(slot: number): boolean;
}

/** Thrown where a value cannot take the place of another one: then the statement has to be bound with it. */
export class OtherValueSignal extends Error {
  override readonly name = 'OtherValueSignal';
}

/**
 * A bound statement, or a part of one, with values in the place of the open ones. Parts without open values are shared, and what
 * is used in several places stays so.
 *
 * @throws {OtherValueSignal} when a value of the same kind cannot be there after all
 */
export function withValues<T extends object>(root: T, values: RunValues): T {
  const made = new Map<object, object>();
  const filled = <V>(part: V): V => {
    if (typeof part !== 'object' || part === null || !hasOpen(part)) return part;
    const known = made.get(part);
    if (known !== undefined) return known as V;
    const copy = isOpen(part) ? closed(part, values) : copied(part, filled);
    made.set(part, copy);
    return copy as V;
  };
  return filled(root);
}

/** The value that a constant has in a run. @throws {OtherValueSignal} as {@link withValues} */
export function valueInRun(constant: BoundConstant, values: RunValues): SqlValue {
  const { open } = constant;
  // One that was looked at may have been changed by whoever did.
  return open === undefined || values.isFixed(open.slot) ? constant.value : valueOfOpen(open, values);
}

function valueOfOpen({ slot, steps }: OpenValue, values: RunValues): SqlValue {
  let value = values.ofSlot(slot);
  try {
    for (const step of steps) if (value !== null) value = step(value);
  } catch (error) {
    throw new OtherValueSignal('a value of the same kind is refused', { cause: error });
  }
  if (value === null) throw new OtherValueSignal('a value of the same kind is NULL');
  return value;
}

function closed(constant: BoundConstant, values: RunValues): BoundConstant {
  const { isParameter, kind, type } = constant;
  const value = valueInRun(constant, values);
  return { kind, type, value, ...(isParameter === true ? { isParameter } : {}) };
}

function copied(part: object, filled: <V>(value: V) => V): object {
  if (Array.isArray(part)) return part.map(filled);
  const copy: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(part)) copy[key] = filled(value);
  return copy;
}

function isOpen(part: object): part is BoundConstant {
  return 'open' in part && 'kind' in part && part.kind === 'constant';
}

/** Whether a part has open values. Constants have no other parts, and their values are not looked into. */
function hasOpen(part: object): boolean {
  const known = knownOpen.get(part);
  if (known !== undefined) return known;
  const found = isOpen(part) || (!isConstant(part) && Object.values(part).some(hasOpenValue));
  knownOpen.set(part, found);
  return found;
}

function hasOpenValue(value: unknown): boolean {
  return typeof value === 'object' && value !== null && hasOpen(value);
}

function isConstant(part: object): boolean {
  return 'kind' in part && part.kind === 'constant';
}
