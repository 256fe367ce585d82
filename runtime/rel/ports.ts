import type { JsonValue } from '#runtime/content/values/json-value.ts';

/**
 * Who asks: the values that conditions name `auth.…`.
 *
 * @see docs/interface/condition-language.md#values-of-the-caller
 */
export interface Caller {
  /** `auth.user_id`: the id of the identity. */
  readonly userId: string | null;
  /** `auth.local_user_id`: the id of the user node in the repository. */
  readonly localUserId: string | null;
  readonly email: string | null;
  /** The path of the user node. */
  readonly home: string | null;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly isAnonymous: boolean;
  readonly isSystem: boolean;
  readonly actingAsWard: string | null;
  readonly activeStewardshipSource: string | null;
}

/** What a node answers for a property whose stored JSON is longer than asked for. */
export const tooLong = Symbol('property is too long');

/**
 * The node that a condition is asked about. Each value is read when a condition needs it, so a row of a scan can
 * answer from its stored bytes. What a getter throws is no part of a condition: it reaches the caller.
 */
export interface ConditionNode {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly nodeType: string;
  readonly createdBy: string | null;
  readonly updatedBy: string | null;
  readonly ownerId: string | null;
  readonly workspace: string;
  /**
   * A property, as it is stored.
   *
   * @param lengthMax a property whose JSON is longer, in characters, need not be decoded
   * @returns undefined when the node has no such property; {@link tooLong} instead of a longer one
   */
  property(name: string, lengthMax: number): JsonValue | undefined | typeof tooLong;
}

/** Which way relations are followed, as seen from the left side of `RELATES`. */
export type RelationDirection = 'OUTGOING' | 'INCOMING' | 'ANY';

/** The relations between nodes, as the engine knows them. */
export interface Relations {
  /**
   * Whether a path of relations leads from one node to another.
   *
   * @param from id of a node
   * @param to id of a node
   * @param types only relations of these types are followed; at least one
   * @param depthMin least number of relations on the path, at least 1
   * @param depthMax largest number of relations on the path
   * @param direction the way in which each relation of the path is followed
   * @returns undefined when the search was given up because it takes too much work: the condition then fails
   */
  related(
    from: string,
    to: string,
    types: readonly string[],
    depthMin: number,
    depthMax: number,
    direction: RelationDirection,
  ): boolean | undefined;
}
