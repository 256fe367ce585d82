import type {
  AuthConfiguration,
  AuthConfigurationChange,
} from '#runtime/access/identity/auth-configuration.ts';
import type { ProviderChange } from '#runtime/access/identity/provider-changes.ts';
import type { ActorEvent } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { CountAbsentLink, CountAbsentLogin, FindAbsentLock } from './absent-messages.ts';
import type {
  EndLink,
  FindSentLink,
  FindWaitingLink,
  ListWaitingLinks,
  RequestLink,
} from './link-messages.ts';
import type { PeopleCommand, PeopleQuery } from './people-messages.ts';

/**
 * Commands and queries of the identities of a tenant: people who log in with a password, a link or a provider, their
 * sessions, and how they authenticate. The actor compares no passwords and makes no tokens: both take time or
 * randomness, so the sender does it, and the command says what was compared with what.
 *
 * All times are Unix timestamps in milliseconds unless they are texts in ISO 8601.
 *
 * @see docs/decisions/0068-identities.md
 */

/** A provider through which a person logs in. */
export interface LinkedProvider {
  /** `oidc:{provider}`. */
  readonly strategy_id: string;
  /** Whose `sub` it is, as configured; links of earlier builds have none. */
  readonly issuer?: string;
  /** The claim `sub`. */
  readonly external_id: string;
  readonly claims: JsonObject;
  readonly groups: readonly string[];
  readonly linked_at: string;
  readonly last_auth_at: string;
}

/** An identity, without what could be used to log in. */
export interface Identity {
  readonly identity_id: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly display_name: string;
  readonly avatar_url: string | null;
  readonly is_active: boolean;
  readonly is_tenant_admin: boolean;
  readonly linked_providers: readonly LinkedProvider[];
  readonly has_password: boolean;
  readonly must_change_password: boolean;
  readonly metadata: JsonObject;
  readonly created_at: string;
  readonly updated_at: string;
  readonly last_login_at: string | null;
}

/** Why a session ended before its time. */
export type SessionEnd =
  | 'logged_out'
  | 'revoked'
  | 'session_limit'
  | 'password_changed'
  | 'address_proven'
  | 'token_reused'
  | 'family_mismatch';

/** A session, without its tokens. */
export interface Session {
  readonly session_id: string;
  readonly auth_strategy: string;
  readonly repository: string | null;
  readonly user_agent: string | null;
  readonly ip_address: string | null;
  readonly created_ms: number;
  readonly last_active_ms: number;
  readonly expires_ms: number;
  readonly token_generation: number;
}

/** A session to be opened. Ids and hashes are chosen by the sender, who issues the tokens. */
export interface NewSession {
  /** A UUID. */
  readonly sessionId: string;
  readonly family: string;
  /** Hash of the secret part of its first refresh token. */
  readonly tokenHash: string;
  /** 30 days instead of 24 hours. */
  readonly rememberMe: boolean;
  readonly repository: string | null;
  readonly userAgent: string | null;
  readonly ipAddress: string | null;
  /** Where the person is: a hash of the address of the client, 16 to 64 characters of base64url. */
  readonly place: string;
}

/** A session with what its tokens are made of. */
export interface OpenedSession {
  readonly identity: Identity;
  readonly session: Session;
  /** Whether the person has to change the password before anything else. */
  readonly mustChangePassword: boolean;
  readonly accessTokenHours: number;
  readonly refreshTokenDays: number;
}

/**
 * Creates an account. Sent by the engine for a person who registers, or for an administrator. Result:
 * {@link Registered}.
 *
 * @throws {ServiceError} `INVALID_EMAIL`, `EMAIL_EXISTS`; `FORBIDDEN` for a registration while password logins are
 *   switched off
 */
export interface RegisterIdentity {
  readonly type: 'RegisterIdentity';
  readonly email: string;
  /** null: the account has no password yet. */
  readonly passwordHash: string | null;
  /** Default: the part of the address before the at-sign. */
  readonly displayName?: string;
  readonly emailVerified?: boolean;
  readonly mustChangePassword?: boolean;
  /** Present for a person who registers. */
  readonly session?: NewSession;
}

/** Result of {@link RegisterIdentity}. */
export interface Registered {
  readonly identity: Identity;
  /** Present when a session was asked for. */
  readonly opened?: OpenedSession;
}

/** A password was compared with the hash of the account, and fits. */
export interface PasswordProof {
  readonly kind: 'password';
  readonly email: string;
  /** The hash that the password was compared with. */
  readonly judged: string;
  /** A hash of the same password with the present parameters, where the stored one has older ones. */
  readonly rehashed?: string;
}

/** The person has a link that was sent to the address. */
export interface MagicLinkProof {
  readonly kind: 'magic_link';
  readonly tokenHash: string;
}

/** A provider vouches for the person; its signature was verified. */
export interface ProviderProof {
  readonly kind: 'provider';
  readonly providerId: string;
  /** `issuer_url` of the configuration that the proof was made with. */
  readonly issuer: string;
  /** The claim `sub`. */
  readonly externalId: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly displayName: string | null;
  readonly avatarUrl: string | null;
  readonly claims: JsonObject;
  readonly groups: readonly string[];
}

/** How a person has shown who they are. */
export type LoginProof = PasswordProof | MagicLinkProof | ProviderProof;

/**
 * Opens a session for a person who has shown who they are. The first login through a provider creates the account.
 * Sent by the engine. Result: {@link OpenedSession}.
 *
 * @throws {ServiceError} `ACCOUNT_LOCKED` also for the right password; `INVALID_CREDENTIALS`; `CONFLICT` when the
 *   password was changed after it was compared, which has to be repeated then; `ACCOUNT_DISABLED`; `UNAUTHORIZED` for a
 *   link that is unknown, used or expired; `FORBIDDEN` for a way to log in that is switched off, and for a person whom
 *   the provider may not vouch for
 */
export interface OpenSession {
  readonly type: 'OpenSession';
  readonly proof: LoginProof;
  readonly session: NewSession;
}

/** Counts a wrong password. Sent by the engine. Result: {@link FailedLogin}. */
export interface CountFailedLogin {
  readonly type: 'CountFailedLogin';
  readonly email: string;
  /** As in {@link NewSession}. */
  readonly place: string;
  /** The hash that the password was compared with; null when there was none. */
  readonly judged: string | null;
}

/** Result of {@link CountFailedLogin}. */
export interface FailedLogin {
  /**
   * `counted`: the answer is `INVALID_CREDENTIALS`, also for the failure that locks the account. `locked`: it was locked
   * before, and the answer says so. `changed`: the password has to be compared again.
   */
  readonly outcome: 'counted' | 'locked' | 'changed';
  /** Seconds until the lock ends; 0 unless it is locked. */
  readonly retryAfterSeconds: number;
}

/**
 * Exchanges a refresh token. Sent by the engine, which verified the token. Result: {@link RefreshOutcome}, because a
 * refusal may revoke the session, and an error would undo that.
 */
export interface RefreshSession {
  readonly type: 'RefreshSession';
  readonly identityId: string;
  readonly sessionId: string;
  readonly family: string;
  readonly generation: number;
  readonly tokenHash: string;
  /** Hash of the secret part of the next token. */
  readonly nextTokenHash: string;
}

/** Code of a refused refresh. */
export type RefreshRefusal =
  | 'SESSION_NOT_FOUND'
  | 'SESSION_REVOKED'
  | 'SESSION_EXPIRED'
  | 'TOKEN_FAMILY_MISMATCH'
  | 'TOKEN_REUSE_DETECTED'
  | 'IDENTITY_NOT_FOUND'
  | 'ACCOUNT_DISABLED';

/** Result of {@link RefreshSession}. */
export type RefreshOutcome =
  | { readonly isRefreshed: true; readonly opened: OpenedSession }
  | { readonly isRefreshed: false; readonly code: RefreshRefusal };

/**
 * Ends a session. One that has ended already is not changed. Sent by the engine. Result: undefined.
 *
 * @throws {ServiceError} `NOT_FOUND` for a session that the identity does not have; `UNAUTHORIZED` when the session of
 *   the person who asks has ended
 */
export interface RevokeSession {
  readonly type: 'RevokeSession';
  readonly identityId: string;
  readonly sessionId: string;
  /** The session of a person who ends another one. Absent for a logout, and for the engine itself. */
  readonly askingSessionId?: string;
  readonly reason: Extract<SessionEnd, 'logged_out' | 'revoked'>;
}

/** Ends all sessions of an identity. Sent by an administrator or the engine. Result: the number that ended. */
export interface RevokeSessions {
  readonly type: 'RevokeSessions';
  readonly identityId: string;
  /** A session that stays. */
  readonly exceptSessionId?: string;
}

/**
 * Records that a session is used. It is stored at most every {@link ACTIVITY_MS}. Sent by the engine. Result: undefined.
 */
export interface NoteActivity {
  readonly type: 'NoteActivity';
  readonly identityId: string;
  readonly sessionId: string;
}

/** The time of the last activity is exact to this. */
export const ACTIVITY_MS: number = 5 * 60 * 1000;

/**
 * Stores a new password. Every other session ends, and so do links sent before. Sent by the engine. Result: undefined.
 *
 * @throws {ServiceError} `IDENTITY_NOT_FOUND`, `ACCOUNT_DISABLED`; `UNAUTHORIZED` when the session has ended, or there
 *   is neither a session nor an old password; `CONFLICT` when the password was changed meanwhile
 */
export interface SetPassword {
  readonly type: 'SetPassword';
  readonly identityId: string;
  /** The hash that the old password was compared with; null for an account without one. */
  readonly judged: string | null;
  readonly passwordHash: string;
  /** The session of the person, which stays, and must be open. Needed for an account without a password. */
  readonly keptSessionId?: string;
  /** Where the person is, as in {@link NewSession}. */
  readonly place?: string;
}

/** Changes an identity. Sent by an administrator or the engine. Result: its {@link Identity}. @throws {ServiceError} `IDENTITY_NOT_FOUND` */
export interface UpdateIdentity {
  readonly type: 'UpdateIdentity';
  readonly identityId: string;
  readonly changes: IdentityChanges;
}

/** What {@link UpdateIdentity} may change. */
export interface IdentityChanges {
  readonly display_name?: string;
  readonly avatar_url?: string | null;
  readonly is_active?: boolean;
  readonly email_verified?: boolean;
  readonly is_tenant_admin?: boolean;
  readonly must_change_password?: boolean;
  readonly metadata?: JsonObject;
}

/**
 * Removes an identity with its sessions. Sent by an administrator or the engine. Result: the removed {@link Identity}.
 *
 * @throws {ServiceError} `IDENTITY_NOT_FOUND`
 */
export interface DeleteIdentity {
  readonly type: 'DeleteIdentity';
  readonly identityId: string;
}

/** Lifetimes of one-time tokens, in minutes; that of magic links is set by the tenant. */
export const oneTimeTokenMinutes = Object.freeze({
  password_reset: 60,
  email_verification: 1_440,
  account_activation: 10_080,
  workspace_invite: 10_080,
  cli_login: 10,
});

/** What a one-time token is for. */
export type OneTimeTokenKind = 'magic_link' | keyof typeof oneTimeTokenMinutes;

/**
 * Stores a one-time token for an address, which need not have an account. Of the tokens of a kind for one address the
 * newest {@link TOKENS_MAX} are good. Sent by the engine. Result: {@link IssuedOneTimeToken}.
 *
 * @throws {ServiceError} `INVALID_EMAIL`, `VALIDATION_FAILED`; `FORBIDDEN` for a magic link while those are switched off
 */
export interface IssueOneTimeToken {
  readonly type: 'IssueOneTimeToken';
  readonly kind: OneTimeTokenKind;
  readonly email: string;
  /** Hash of the token, which only its receiver has. */
  readonly tokenHash: string;
  /** Answered when the token is used; at most {@link TOKEN_PAYLOAD_UNITS_MAX}. */
  readonly payload: JsonObject;
}

/** Tokens of one kind for one address that are good at the same time. */
export const TOKENS_MAX = 5;

/** Largest payload of a one-time token, in units of `measureJson`. */
export const TOKEN_PAYLOAD_UNITS_MAX = 8_192;

/** Result of {@link IssueOneTimeToken}. */
export interface IssuedOneTimeToken {
  readonly expiresMs: number;
}

/**
 * Uses a one-time token other than a magic link, which {@link OpenSession} uses. Sent by the engine. Result:
 * {@link UsedOneTimeToken}.
 *
 * @throws {ServiceError} `UNAUTHORIZED` for a token that is unknown, used or expired
 */
export interface UseOneTimeToken {
  readonly type: 'UseOneTimeToken';
  readonly kind: Exclude<OneTimeTokenKind, 'magic_link'>;
  readonly tokenHash: string;
}

/** Result of {@link UseOneTimeToken}. */
export interface UsedOneTimeToken {
  /** Key of the address that the token was made for. */
  readonly emailKey: string;
  /** The account that the address has now; null for none. */
  readonly identityId: string | null;
  readonly payload: JsonObject;
}

/** Changes how people authenticate. Secrets are encrypted. Sent by an administrator. Result: {@link AuthConfiguration}. */
export interface ConfigureAuthentication {
  readonly type: 'ConfigureAuthentication';
  readonly change: AuthConfigurationChange;
}

/**
 * Changes one provider, whatever else is changed at the same time. Its secret is encrypted. Sent by an administrator. Result:
 * {@link ProviderChanged}.
 *
 * @throws {ServiceError} `ALREADY_EXISTS`, `PROVIDER_NOT_FOUND`, `VALIDATION_FAILED`
 */
export interface ChangeProvider {
  readonly type: 'ChangeProvider';
  readonly change: ProviderChange;
}

/** Result of {@link ChangeProvider}. */
export interface ProviderChanged {
  readonly configuration: AuthConfiguration;
  /** False: there was none to be removed. */
  readonly isChanged: boolean;
}

/**
 * Replaces encrypted secrets of the configuration, each only while it is stored: one that was changed meanwhile stays. Sent
 * by the engine. Result: whether something was replaced.
 */
export interface ReplaceSecrets {
  readonly type: 'ReplaceSecrets';
  /** Pairs of the stored text and the new one. */
  readonly replacements: readonly (readonly [stored: string, replacement: string])[];
}

/** The commands of the identities of a tenant. */
export type IdentitiesCommand =
  | RegisterIdentity
  | OpenSession
  | CountFailedLogin
  | CountAbsentLogin
  | CountAbsentLink
  | RefreshSession
  | RevokeSession
  | RevokeSessions
  | NoteActivity
  | SetPassword
  | UpdateIdentity
  | DeleteIdentity
  | IssueOneTimeToken
  | UseOneTimeToken
  | RequestLink
  | EndLink
  | ConfigureAuthentication
  | ChangeProvider
  | ReplaceSecrets
  | PeopleCommand;

/** An identity by id or address. Answer: {@link Identity} or undefined. For an administrator or the engine. */
export interface FindIdentity {
  readonly type: 'FindIdentity';
  readonly identityId?: string;
  readonly email?: string;
}

/** What a password is compared with, for the engine only. Answer: {@link Credentials}. */
export interface FindCredentials {
  readonly type: 'FindCredentials';
  readonly email: string;
  /** As in {@link NewSession}. */
  readonly place: string;
}

/** Answer to {@link FindCredentials}; alike for an address without an account and for an account without password. */
export interface Credentials {
  /** null: compare with nothing; the login fails. */
  readonly passwordHash: string | null;
  /** Seconds until the lock ends; 0: it is not locked. */
  readonly retryAfterSeconds: number;
  /** Whether the person has logged in from the place. */
  readonly isKnownPlace: boolean;
}

/** The sessions of an identity that have not ended, newest first, for the engine only. Answer: array of {@link Session}. */
export interface ListSessions {
  readonly type: 'ListSessions';
  readonly identityId: string;
}

/**
 * Identities in the order of their creation, for an administrator. Answer: array of {@link Identity}.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export interface ListIdentities {
  readonly type: 'ListIdentities';
  readonly offset: number;
  /** 1 to {@link IDENTITIES_PAGE_MAX}. */
  readonly limit: number;
  /** Only the one with this address. */
  readonly email?: string;
  readonly isActive?: boolean;
}

/** Most identities in one answer to {@link ListIdentities}. */
export const IDENTITIES_PAGE_MAX = 100;

/** How people authenticate, with encrypted secrets, for the engine only. Answer: {@link ReadConfiguration}. */
export interface ReadAuthentication {
  readonly type: 'ReadAuthentication';
}

/** Answer to {@link ReadAuthentication}. */
export interface ReadConfiguration {
  readonly configuration: AuthConfiguration;
  /** False: these are the defaults. */
  readonly isStored: boolean;
}

/**
 * Whether a restore may replace everything: there is nothing, or only what an earlier restore has left. For the engine
 * only. Answer: boolean.
 */
export interface IsReplaceable {
  readonly type: 'IsReplaceable';
}

/** The queries of the identities of a tenant. */
export type IdentitiesQuery =
  | FindIdentity
  | FindCredentials
  | FindAbsentLock
  | ListSessions
  | ListIdentities
  | ReadAuthentication
  | FindSentLink
  | FindWaitingLink
  | ListWaitingLinks
  | IsReplaceable
  | PeopleQuery;

/**
 * An identity was changed or removed by an administrator, or its password was set: what was read of it before, to
 * decide whether its access tokens count, has to be read again.
 */
export interface IdentityChanged extends ActorEvent {
  readonly type: 'IdentityChanged';
  readonly identityId: string;
}

/** The configuration has changed: copies of it have to be read again. */
export interface AuthenticationConfigured extends ActorEvent {
  readonly type: 'AuthenticationConfigured';
}

/** Whether an event is an {@link IdentityChanged}. */
export function isIdentityChanged(event: ActorEvent): event is IdentityChanged {
  return event.type === 'IdentityChanged';
}

/** Whether an event is an {@link AuthenticationConfigured}. */
export function isAuthenticationConfigured(event: ActorEvent): event is AuthenticationConfigured {
  return event.type === 'AuthenticationConfigured';
}
