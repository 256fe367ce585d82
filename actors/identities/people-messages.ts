import type { ActorEvent } from '#runtime/commit/behaviour.ts';

/**
 * Messages about what identities have in repositories: requests for access, invitations, and changes of their user nodes
 * that have to reach every repository. All are for the engine, which decides who may.
 *
 * A repository is named by its part of actor ids, `{name}~{uid}`: one that is removed takes nothing to the next of its
 * name.
 *
 * @see docs/decisions/0074-people.md
 */

/** What became of a request or an invitation. */
export type AccessStatus = 'pending' | 'invited' | 'active' | 'denied';

/** Every status of an entry. */
export const accessStatuses: readonly AccessStatus[] = Object.freeze([
  'pending',
  'invited',
  'active',
  'denied',
]);

/** A request for access to a repository, or an invitation to one. Times are in ISO 8601. */
export interface AccessEntry {
  readonly id: string;
  readonly repository: string;
  /** Who asks; null for an invitation, which is for an address. */
  readonly identity_id: string | null;
  /** The address that is invited, as it was given; null for a request. */
  readonly email: string | null;
  readonly status: AccessStatus;
  /** What the person asks for, or is invited to. */
  readonly requested_roles: readonly string[];
  readonly message: string | null;
  /** Why it was denied. */
  readonly reason: string | null;
  /** Who decided, or invites; null while nobody did. */
  readonly decided_by: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** Time after which an entry that nobody changes is removed, in milliseconds. An invitation has a time of its own. */
export const ACCESS_KEPT_MS: number = 90 * 24 * 60 * 60 * 1000;

/** Most requests of a repository that are pending. */
export const PENDING_MAX = 100;

/** Most invitations of a repository that are open. */
export const INVITED_MAX = 500;

/** Longest validity of an invitation, in days. */
export const INVITATION_DAYS_MAX = 90;

/**
 * Asks for access. A request that is pending already gets the new message and roles, and keeps its id. Result: its
 * {@link AccessEntry}.
 *
 * @throws {ServiceError} `FORBIDDEN` where the tenant allows no requests; `RATE_LIMITED` above {@link PENDING_MAX};
 *   `IDENTITY_NOT_FOUND`, `ACCOUNT_DISABLED`
 */
export interface RequestAccess {
  readonly type: 'RequestAccess';
  readonly repository: string;
  readonly identityId: string;
  readonly message: string | null;
  readonly roles: readonly string[];
}

/**
 * Decides on a request, withdraws an invitation, or ends its use, after which the person has the access. One that was
 * decided in the same way already is not changed. Result: its {@link AccessEntry}.
 *
 * @throws {ServiceError} `NOT_FOUND`; `CONFLICT` for one that was decided otherwise, and for an invitation that is being used,
 *   see {@link TakeInvitation}
 */
export interface DecideAccess {
  readonly type: 'DecideAccess';
  readonly repository: string;
  readonly id: string;
  readonly decision: 'active' | 'denied';
  readonly reason: string | null;
  readonly by: string;
}

/**
 * Invites whoever proves an address, which need not have an account. An open invitation for it is replaced, and keeps its
 * id. One that is being used stays with whoever uses it, and the new one has another id. Result: its {@link AccessEntry}, which does not tell whether there is an account.
 *
 * @throws {ServiceError} `INVALID_EMAIL`; `FORBIDDEN` where the tenant allows no invitations; `RATE_LIMITED` above
 *   {@link INVITED_MAX}
 */
export interface InviteToRepository {
  readonly type: 'InviteToRepository';
  readonly repository: string;
  readonly email: string;
  readonly roles: readonly string[];
  readonly message: string | null;
  /** 1 to {@link INVITATION_DAYS_MAX}. */
  readonly days: number;
  readonly by: string;
}

/**
 * Begins to use the invitation that is open for an identity, as {@link FindInvitation} finds it: it is `active` from now on,
 * and what it says cannot change any more. The sender gives the access and ends the use with {@link DecideAccess}. Until then
 * the invitation is found and taken again by the next login, so that none is lost when its first user dies. It cannot be withdrawn
 * within {@link TAKEN_MS}. Result: {@link AccessEntry}; null when there is none.
 */
export interface TakeInvitation {
  readonly type: 'TakeInvitation';
  readonly repository: string;
  readonly identityId: string;
}

/** Time after the last {@link TakeInvitation} after which nobody uses the invitation any more, in milliseconds. */
export const TAKEN_MS = 60_000;

/**
 * Withdraws the invitation that is open for the address of an identity, proven or not: its access is being revoked. Without
 * one, or without the identity, nothing happens.
 */
export interface EndInvitation {
  readonly type: 'EndInvitation';
  readonly repository: string;
  readonly identityId: string;
  readonly reason: string | null;
  readonly by: string;
}

/** A request or an invitation by id. Answer: {@link AccessEntry} or undefined. */
export interface FindAccess {
  readonly type: 'FindAccess';
  readonly repository: string;
  readonly id: string;
}

/**
 * The invitation that is open for an identity, or is being used: the identity is active, and its address is proven and
 * invited. Answer: {@link AccessEntry} or undefined.
 */
export interface FindInvitation {
  readonly type: 'FindInvitation';
  readonly repository: string;
  readonly identityId: string;
}

/** Requests and invitations of a repository, by status and then newest first. Answer: {@link AccessPage}. */
export interface ListAccess {
  readonly type: 'ListAccess';
  readonly repository: string;
  /** Absent: all of them. */
  readonly status?: AccessStatus;
  readonly offset: number;
  /** 1 to {@link ACCESS_PAGE_MAX}. */
  readonly limit: number;
}

/** Most entries in one answer to {@link ListAccess}. */
export const ACCESS_PAGE_MAX = 100;

/** Answer to {@link ListAccess}. */
export interface AccessPage {
  readonly entries: readonly AccessEntry[];
  /** Of all pages. */
  readonly total: number;
}

/** Status of the user nodes of an identity. */
export type UserStatus = 'active' | 'inactive' | 'deleted';

/**
 * An identity was activated, deactivated or removed, and its user nodes in some repositories do not say so yet. It is
 * stored with the change, and stays until every repository was reached.
 */
export interface StatusChange {
  readonly identityId: string;
  readonly status: UserStatus;
  /** Tells this change from a later one of the identity. */
  readonly changeId: string;
  /** The last repository that was reached, in the order of their parts; null: none. */
  readonly after: string | null;
  /** How many were reached. */
  readonly done: number;
}

/** Records how far a change has come. Result: whether it is still the newest one of the identity. */
export interface NoteStatusChange {
  readonly type: 'NoteStatusChange';
  readonly identityId: string;
  readonly changeId: string;
  readonly after: string;
  readonly done: number;
}

/** Removes a change that has reached every repository. Result: whether it was still the newest one of the identity. */
export interface EndStatusChange {
  readonly type: 'EndStatusChange';
  readonly identityId: string;
  readonly changeId: string;
}

/** Changes that have not reached every repository, or the one of an identity. Answer: array of {@link StatusChange}. */
export interface ListStatusChanges {
  readonly type: 'ListStatusChanges';
  readonly identityId?: string;
}

/** Most changes in one answer to {@link ListStatusChanges}; others are listed when these have ended. */
export const STATUS_CHANGES_PAGE = 100;

/** A change of the status of user nodes has to be carried to the repositories. */
export interface UserStatusChanging extends ActorEvent {
  readonly type: 'UserStatusChanging';
}

/** Whether an event is {@link UserStatusChanging}. */
export function isUserStatusChanging(event: ActorEvent): event is UserStatusChanging {
  return event.type === 'UserStatusChanging';
}

/** The commands of this file. */
export type PeopleCommand =
  | RequestAccess
  | DecideAccess
  | InviteToRepository
  | TakeInvitation
  | EndInvitation
  | NoteStatusChange
  | EndStatusChange;

/** The queries of this file. */
export type PeopleQuery = FindAccess | FindInvitation | ListAccess | ListStatusChanges;
