import type { Answer } from './answer.ts';
import type { Effort } from './rounds.ts';
import type { Stage } from './stage.ts';

/** Sizes and times of a run. */
export interface Plan extends Effort {
  /** Articles in the store the peers are compared on. */
  readonly articles: number;
  /** Numbers of nodes at which growth, forks and merges are measured, rising. */
  readonly sizes: readonly number[];
  /** Numbers of changes that are merged, rising. */
  readonly changes: readonly number[];
  /** States every node goes through where old ones are read. */
  readonly versions: number;
  /** Connections the peers are compared at. */
  readonly connections: readonly number[];
}

/** One question, one file of bench/. */
export interface Question {
  /** What selects it on the command line. */
  readonly name: string;
  readonly title: string;
  measure(plan: Plan, stage: Stage): Promise<Answer>;
}
