import type { Answer } from './answer.ts';
import type { Effort } from './rounds.ts';
import type { Stage } from './stage.ts';

/** Sizes and durations of a run. */
export interface Plan extends Effort {
  /** Articles in the store for the comparison with peers. */
  readonly articles: number;
  /** Numbers of nodes at which growth, forks and merges are measured, ascending. */
  readonly sizes: readonly number[];
  /** Numbers of merged changes, ascending. */
  readonly changes: readonly number[];
  /** Versions of every node in the benchmark of past reads. */
  readonly versions: number;
  /** Numbers of connections for the comparison with peers. */
  readonly connections: readonly number[];
}

/** A benchmark; each is one file of bench/. */
export interface Question {
  /** Name that selects it on the command line. */
  readonly name: string;
  readonly title: string;
  measure(plan: Plan, stage: Stage): Promise<Answer>;
}
