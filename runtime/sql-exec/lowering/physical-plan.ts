import type { Names } from '../explain/names.ts';
import type { Operator } from '../operator.ts';
import type { LookupKey, TableLookup } from '../ports.ts';
import type { Layout } from './layout.ts';

/** A step of a statement: how rows are made. It may be opened several times. */
export interface PhysicalPlan {
  /** Its name and facts in one line, for explanations; without the constants of the statement where the names say so. */
  readonly describe: (names: Names) => string;
  /** What it reads, in the order of explanations. */
  readonly inputs: readonly PhysicalPlan[];
  readonly layout: Layout;
  /** About how many rows it makes: to decide which side of a join is kept. */
  readonly rows: number;
  /** Whether the rows come in the order that was wished for. */
  readonly isOrdered: boolean;
  /** The slot in whose ascending order the rows come, with NULLs nowhere; absent: they come in any. */
  readonly sortedBy?: number | undefined;
  /** How some of its rows can be found by a key, instead of all; absent: they cannot. */
  readonly lookups?: Lookups | undefined;
  /** What it did beside making rows, for measured explanations: ` lookups=5`; asked when the statement has run. */
  readonly measured?: (() => string) | undefined;
  readonly open: () => Operator;
}

/** The look-ups that a step can make. */
export interface Lookups {
  /** About how long it takes to make all rows instead, in nanoseconds. */
  readonly cost: number;
  /** @returns undefined: nothing finds rows by this key */
  find(key: LookupKey): Generator<undefined, FoundLookup | undefined>;
}

/** A look-up whose rows are those of a step, with the same slots. */
export interface FoundLookup extends Omit<TableLookup, 'description' | 'shape' | 'indexed'> {
  readonly describe: (names: Names) => string;
}
