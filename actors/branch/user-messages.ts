/**
 * The nodes of type `svc:User` of an identity, whatever their state, or those with an address, in workspace
 * `svc:access_control`. Nodes of an identity that are not below `/users` do not count. Sent by the engine. Answer: array of
 * {@link UserNode}, at most {@link USERS_FOUND_MAX}.
 *
 * @throws {ServiceError} `FORBIDDEN`
 */
export interface FindUsers {
  readonly type: 'FindUsers';
  readonly by:
    | {
        /** Value of `user_id`. */
        readonly userId: string;
      }
    | {
        /** Value of `email`, compared by its characters. */
        readonly email: string;
      };
}

/** Most nodes in one answer to {@link FindUsers}. */
export const USERS_FOUND_MAX = 16;

/** What a node of type `svc:User` says of a person. Values of other types than the declared ones count as absent. */
export interface UserNode {
  readonly id: string;
  readonly path: string;
  readonly version: number;
  /** The identity; null when the node is of none. */
  readonly userId: string | null;
  readonly email: string | null;
  readonly displayName: string | null;
  readonly status: string | null;
  /** False: somebody has ended what the person may do here. */
  readonly canLogin: boolean;
  /** As they are stored. */
  readonly roles: readonly string[];
  readonly groups: readonly string[];
}
