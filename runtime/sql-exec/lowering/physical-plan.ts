import type { Names } from '../explain/names.ts';
import type { Operator } from '../operator.ts';
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
  readonly open: () => Operator;
}
