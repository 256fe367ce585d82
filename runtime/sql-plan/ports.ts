import type { JsonValue } from '#runtime/content/values/json-value.ts';

/** What a statement may name, and what its functions of the session answer. */
export interface StatementScope {
  /**
   * The workspace that a name means: the name itself, or for a bare name its alias in CamelCase.
   *
   * @returns undefined: there is no such workspace
   */
  workspaceNamed(name: string, isBare: boolean): string | undefined;
  /** Values of `$1`, `$2` and so on. */
  readonly parameters: readonly JsonValue[];
  /** The moment of the statement, in microseconds since 1970: NOW() is constant within it. */
  readonly nowMicroseconds: bigint;
  /** CURRENT_USER(). */
  readonly user: string;
  /** CURRENT_BRANCH(), and the column `__branch` without a condition on it. */
  readonly branch: string;
  /** VERSION(). */
  readonly version: string;
}
