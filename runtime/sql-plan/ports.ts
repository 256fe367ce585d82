import type { BoundConstant } from './bound/bound-statement.ts';
import type { AuthAnswers } from './auth-answers.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';

/** The caller of a statement, for the functions about it. @see docs/interface/sql-access.md#functions */
export interface StatementCaller {
  /** SVC_AUTH_CURRENT_USER(): id of the identity, or of the account of an administrator; null without one. */
  readonly id: string | null;
  /** SVC_CURRENT_USER(): the user node; null without one, and where the text of the statements does not name the function. */
  readonly node: JsonObject | null;
  /**
   * SVC_AUTH_HAS_PERMISSION(resource, operation).
   *
   * @param resource a workspace and a path: `blog:/posts/one`
   * @throws {ServiceError} `VALIDATION_FAILED` for an unknown operation; `REQUEST_TOO_EXPENSIVE`
   */
  may(operation: string, resource: string): boolean;
  /**
   * RESOLVE(json, depth).
   *
   * @throws {ServiceError} `VALIDATION_FAILED` for a depth that is not from 0 to 10; `REQUEST_TOO_EXPENSIVE`
   */
  resolve(value: JsonValue, depth: number): JsonValue;
}

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
  /**
   * A parameter whose value binding need not look at, for statements that are kept. Absent, and undefined: {@link parameters} has it.
   */
  openParameter?(index: number): BoundConstant | undefined;
  /** The moment of the statement, in microseconds since 1970: NOW() is constant within it. */
  readonly nowMicroseconds: bigint;
  /** CURRENT_USER(). */
  readonly user: string;
  /** Undefined: the functions about the caller are not available. */
  readonly caller?: StatementCaller;
  /** Answers of the functions about how people authenticate; undefined: they are not available. */
  readonly auth?: AuthAnswers;
  /** CURRENT_BRANCH(), and the column `__branch` without a condition on it. */
  readonly branch: string;
  /** VERSION(). */
  readonly version: string;
}
