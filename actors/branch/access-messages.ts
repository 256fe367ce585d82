import type { ReadGrants } from '#runtime/access/roles/granted.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';

/** Queries of branch `main` about what callers may do in its repository. */

/**
 * The roles, groups and user node of the caller, an identity. Answer: {@link OwnAccess}; null without a user node that is
 * active, and for other callers.
 */
export interface ReadOwnAccess {
  readonly type: 'ReadOwnAccess';
}

/** Answer to {@link ReadOwnAccess}. */
export interface OwnAccess {
  /** Ids of the effective roles. */
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  /** Path of the user node. */
  readonly home: string;
  readonly userNode: {
    readonly id: string;
    readonly path: string;
    readonly nodeType: string;
    readonly workspace: string;
    readonly properties: JsonObject;
  };
}

/** See the queries. */
export type AccessQuery = ReadGrants | ReadOwnAccess;
