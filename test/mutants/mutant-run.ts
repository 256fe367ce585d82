import type { GuardMutant } from './guard-mutant.ts';

/** Test files, and what is changed in one file of the sources while they run. */
export interface MutantRun {
  readonly tests: readonly string[];
  /** Only tests with this text in their names; absent: all. */
  readonly only?: string | undefined;
  /** Without it the sources are run as they are. */
  readonly change?: Pick<GuardMutant, 'file' | 'from' | 'to'> | undefined;
}

/** How the tests of a run went. They end with the first one that fails. */
export interface MutantOutcome {
  /** Tests that were found. */
  readonly total: number;
  /** Tests that failed. A file that cannot be loaded is none: it is an error of the run. */
  readonly failed: number;
}

/** What the process of a `MutantRunner` answers to a `MutantRun`. */
export type MutantAnswer = MutantOutcome | { readonly error: string };
