/** The caller, as conditions of permissions know it under the name `auth`. */
export interface RuleCaller {
  /** Id of the identity. */
  readonly userId: string;
  /** Id of the user node in the repository. */
  readonly localUserId: string | null;
  readonly email: string | null;
  readonly isAnonymous: boolean;
  /** Never for a caller with roles: the engine itself has no permissions to compile. */
  readonly isSystem: boolean;
  /** Ids of the effective roles. */
  readonly roles: readonly string[];
  /** Ids of the groups. */
  readonly groups: readonly string[];
  /** Path of the user node. */
  readonly home: string | null;
  /** Id of the user for whom the caller acts. */
  readonly actingAsWard: string | null;
  /** What lets the caller act for that user. */
  readonly activeStewardshipSource: string | null;
}
