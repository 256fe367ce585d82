/** One safety guard of the cluster or the storage, how it is taken away, and which tests then have to fail. */
export interface GuardMutant {
  /** What the guard is for, in a few words. */
  readonly guard: string;
  /** The file it stands in. */
  readonly file: string;
  /** The guard as it stands there, once. */
  readonly from: string;
  /** What stands there instead. */
  readonly to: string;
  /** Test files of which one has to fail. */
  readonly tests: readonly string[];
  /** Text in the names of the tests that have to fail, where the others take long: these are left out. */
  readonly only?: string;
}
