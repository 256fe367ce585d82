import type { PhysicalPlan } from '../lowering/physical-plan.ts';
import type { Operator, Row } from '../operator.ts';

/** What a step did while a statement ran. */
export interface Measurement {
  rows: number;
  /** With the steps below it, without the pauses. */
  timeMs: number;
}

/** What the steps of a statement did. */
export class Measurements {
  readonly #clock: () => number;
  readonly #steps = new Map<PhysicalPlan['describe'], Measurement>();

  /** @param clock the time in milliseconds */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** An operator that does the same, and is measured. */
  measured(plan: PhysicalPlan, operator: Operator): Operator {
    const measurement = this.#steps.get(plan.describe) ?? { rows: 0, timeMs: 0 };
    this.#steps.set(plan.describe, measurement);
    return new MeasuredOperator(operator, measurement, this.#clock);
  }

  /** @returns undefined: the step was not reached */
  of(plan: PhysicalPlan): Measurement | undefined {
    return this.#steps.get(plan.describe);
  }
}

class MeasuredOperator implements Operator {
  readonly #operator: Operator;
  readonly #measurement: Measurement;
  readonly #clock: () => number;

  constructor(operator: Operator, measurement: Measurement, clock: () => number) {
    this.#operator = operator;
    this.#measurement = measurement;
    this.#clock = clock;
  }

  *next(): Generator<undefined, readonly Row[] | undefined> {
    const steps = this.#operator.next();
    for (;;) {
      const from = this.#clock();
      const step = steps.next();
      this.#measurement.timeMs += this.#clock() - from;
      if (step.done === true) {
        this.#measurement.rows += step.value?.length ?? 0;
        return step.value;
      }
      yield undefined;
    }
  }

  close(): void {
    this.#operator.close();
  }
}
