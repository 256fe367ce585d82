import { JoinOperator } from './join-operator.ts';

/** Estimated bytes of a position in a list. */
const POSITION_BYTES = 8;

/** A join that looks at all pairs. */
export class NestedLoopJoinOperator extends JoinOperator {
  readonly #all: number[] = [];

  protected *keep(): Generator<undefined, void> {
    yield* this.kept.read((_row, position) => {
      this.#all.push(position);
      return POSITION_BYTES;
    });
  }

  protected candidates(): readonly number[] {
    return this.#all;
  }
}
