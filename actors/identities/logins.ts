import type { AuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { domainOf, emailKeyOf, localPartOf, parseEmail } from '#runtime/access/identity/email-address.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { measureJson } from '#runtime/content/values/json-bounds.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import {
  addIdentity,
  configurationOf,
  findIdentity,
  identityOfEmail,
  identityOfProvider,
  identityOfText,
  saveIdentity,
  shownIdentity,
  timestampOf,
} from './identity-store.ts';
import type { IdentityRow } from './identities-tables.ts';
import { LoginAttempts } from './login-attempts.ts';
import type {
  CountFailedLogin,
  Credentials,
  FailedLogin,
  FindCredentials,
  LinkedProvider,
  LoginProof,
  MagicLinkProof,
  NewSession,
  OpenedSession,
  OpenSession,
  PasswordProof,
  ProviderProof,
  Registered,
  RegisterIdentity,
} from './messages.ts';
import { useToken } from './one-time-tokens.ts';
import { isWithIssuer, linkWith, strategyOf, unlinked } from './provider-links.ts';
import { endSessions, openSession } from './sessions.ts';

/** Largest stored claims of a provider, in units of `measureJson`; larger ones are not stored. */
const CLAIMS_UNITS_MAX = 8_192;

/** Most groups of a provider that are stored. */
const GROUPS_MAX = 200;

/** Longest name of a group that is stored, in UTF-16 units. */
const GROUP_CHARACTERS_MAX = 256;

/** Longest name of a person, in characters; longer ones are cut. */
const DISPLAY_NAME_CHARACTERS_MAX = 200;

/** Longest address of a picture that is stored, in UTF-16 units. */
const AVATAR_URL_CHARACTERS_MAX = 2_048;

const placeShape = /^[A-Za-z0-9_-]{16,64}$/;

/** At most 255 characters (OpenID Connect Core section 2), none of which could end the part of a key. */
const externalIdShape = /^[^\p{Cc}\p{Cs}]{1,255}$/u;

/** @see messages.ts, RegisterIdentity */
export function register(turn: Turn, command: RegisterIdentity): Registered {
  const configuration = configurationOf(turn);
  if (command.session !== undefined && !configuration.local_auth.enabled)
    throw new ServiceError('FORBIDDEN', 'Registration with a password is switched off');
  const email = parseEmail(command.email);
  const at = timestampOf(turn);
  const { passwordHash } = command;
  const identity: IdentityRow = {
    identity_id: turn.newId(),
    email: email.address,
    email_verified: command.emailVerified === true,
    display_name: shortName(command.displayName ?? '') || localPartOf(email.address),
    avatar_url: null,
    is_active: true,
    is_tenant_admin: false,
    linked_providers: [],
    local_credentials:
      passwordHash === null
        ? null
        : {
            password_hash: passwordHash,
            must_change_password: command.mustChangePassword === true,
            password_changed_ms: turn.wallMs,
          },
    metadata: {},
    created_at: at,
    updated_at: at,
    last_login_at: command.session === undefined ? null : at,
  };
  addIdentity(turn, email, identity);
  // Failures at the address before it had an account are nothing of the account.
  new LoginAttempts(turn, email.key, false, turn.wallMs).forget(turn);
  if (command.session === undefined) return { identity: shownIdentity(identity) };
  const opened = open(turn, identity, 'local', command.session, configuration);
  return { identity: opened.identity, opened };
}

/** @see messages.ts, OpenSession */
export function logIn(turn: Turn, { proof, session }: OpenSession): OpenedSession {
  const configuration = configurationOf(turn);
  const { identity, strategy } = proven(turn, proof, session, configuration);
  if (!identity.is_active) throw new ServiceError('ACCOUNT_DISABLED');
  const seen: IdentityRow = { ...identity, last_login_at: timestampOf(turn) };
  saveIdentity(turn, seen);
  return open(turn, seen, strategy, session, configuration);
}

/** @see messages.ts, CountFailedLogin */
export function countFailure(turn: Turn, { email, judged, place }: CountFailedLogin): FailedLogin {
  const bounded = requirePlace(place);
  const emailKey = emailKeyOf(email);
  if (emailKey === undefined) return { outcome: 'counted', retryAfterSeconds: 0 };
  const identity = identityOfEmail(turn, emailKey);
  const configuration = configurationOf(turn);
  const attempts = new LoginAttempts(turn, emailKey, identity !== undefined, turn.wallMs);
  const lockedMs = attempts.lockedMs(bounded, configuration);
  // The password was compared before the lock was set. Right or wrong, the answer must be the same.
  if (lockedMs > 0) return { outcome: 'locked', retryAfterSeconds: secondsOf(lockedMs) };
  if ((identity?.local_credentials?.password_hash ?? null) !== judged)
    return { outcome: 'changed', retryAfterSeconds: 0 };
  attempts.failed(turn, bounded, configuration);
  return { outcome: 'counted', retryAfterSeconds: 0 };
}

/** @see messages.ts, FindCredentials */
export function findCredentials(
  reader: TableReader,
  { email, place }: FindCredentials,
  nowMs: number,
): Credentials {
  const bounded = requirePlace(place);
  const emailKey = emailKeyOf(email);
  if (emailKey === undefined) return { passwordHash: null, retryAfterSeconds: 0, isKnownPlace: false };
  const identity = identityOfEmail(reader, emailKey);
  const attempts = new LoginAttempts(reader, emailKey, identity !== undefined, nowMs);
  const lockedMs = attempts.lockedMs(bounded, configurationOf(reader));
  return {
    passwordHash: identity?.local_credentials?.password_hash ?? null,
    retryAfterSeconds: secondsOf(lockedMs),
    isKnownPlace: attempts.isKnown(bounded),
  };
}

/** A place in the form that keys may have. @throws {ServiceError} `VALIDATION_FAILED` */
export function requirePlace(place: string): string {
  if (placeShape.test(place)) return place;
  throw new ServiceError('VALIDATION_FAILED', 'The place is not a hash');
}

function open(
  turn: Turn,
  identity: IdentityRow,
  strategy: string,
  session: NewSession,
  configuration: AuthConfiguration,
): OpenedSession {
  const attempts = new LoginAttempts(turn, parseEmail(identity.email).key, true, turn.wallMs);
  attempts.succeeded(turn, requirePlace(session.place), configuration);
  return openSession(turn, identity, strategy, session, configuration);
}

interface Proven {
  readonly identity: IdentityRow;
  readonly strategy: string;
}

function proven(
  turn: Turn,
  proof: LoginProof,
  session: NewSession,
  configuration: AuthConfiguration,
): Proven {
  switch (proof.kind) {
    case 'password':
      return { identity: byPassword(turn, proof, session.place, configuration), strategy: 'local' };
    case 'magic_link':
      return { identity: byLink(turn, proof, session.place, configuration), strategy: 'magic_link' };
    case 'provider':
      return {
        identity: byProvider(turn, proof, session.place, configuration),
        strategy: strategyOf(proof.providerId),
      };
  }
}

function byPassword(
  turn: Turn,
  { email, judged, rehashed }: PasswordProof,
  place: string,
  configuration: AuthConfiguration,
): IdentityRow {
  if (!configuration.local_auth.enabled)
    throw new ServiceError('FORBIDDEN', 'Logins with a password are switched off');
  const identity = identityOfText(turn, email);
  const credentials = identity?.local_credentials ?? null;
  if (identity === undefined || credentials === null) throw new ServiceError('INVALID_CREDENTIALS');
  const attempts = new LoginAttempts(turn, parseEmail(identity.email).key, true, turn.wallMs);
  const lockedMs = attempts.lockedMs(requirePlace(place), configuration);
  if (lockedMs > 0) throw accountLocked(secondsOf(lockedMs));
  if (credentials.password_hash !== judged)
    throw new ServiceError('CONFLICT', 'The password was changed meanwhile');
  if (rehashed === undefined) return identity;
  return { ...identity, local_credentials: { ...credentials, password_hash: rehashed } };
}

function accountLocked(retryAfterSeconds: number): ServiceError {
  return new ServiceError('ACCOUNT_LOCKED', 'Too many failed logins; wait and try again', {
    details: { retry_after_seconds: retryAfterSeconds },
  });
}

function byLink(
  turn: Turn,
  { tokenHash }: MagicLinkProof,
  place: string,
  configuration: AuthConfiguration,
): IdentityRow {
  if (!configuration.magic_link.enabled)
    throw new ServiceError('FORBIDDEN', 'Logins with a link are switched off');
  const { identityId } = useToken(turn, 'magic_link', tokenHash);
  const identity = identityId === null ? undefined : findIdentity(turn, identityId);
  if (identity === undefined)
    throw new ServiceError('UNAUTHORIZED', 'The link is not valid; it may have been used, or have expired');
  return withProvenEmail(turn, identity, place);
}

function byProvider(
  turn: Turn,
  proof: ProviderProof,
  place: string,
  configuration: AuthConfiguration,
): IdentityRow {
  const provider = configuration.oidc_providers.find(({ provider_id: id }) => id === proof.providerId);
  if (provider?.enabled !== true) throw new ServiceError('FORBIDDEN', 'The provider is switched off');
  const email = parseEmail(proof.email);
  if (!proof.emailVerified)
    throw new ServiceError('FORBIDDEN', 'The provider has not verified the email address');
  const domains = provider.allowed_email_domains;
  if (domains !== null && !domains.includes(domainOf(email.address)))
    throw new ServiceError(
      'FORBIDDEN',
      'Email addresses of this domain may not log in through this provider',
    );
  if (!externalIdShape.test(proof.externalId))
    throw new ServiceError('FORBIDDEN', 'The provider names the person in a way that cannot be stored');
  const { issuer, providerId } = proof;
  if (provider.issuer_url !== issuer)
    throw new ServiceError('FORBIDDEN', 'The provider was changed meanwhile; log in again');
  const named = identityOfProvider(turn, strategyOf(providerId), proof.externalId);
  const link = named === undefined ? undefined : linkWith(named, providerId);
  if (named !== undefined && link !== undefined) {
    if (isWithIssuer(turn, link, providerId, issuer)) return linked(turn, named, proof);
    // The link is with an issuer that this provider no longer is, and its name is needed.
    unlinked(turn, named, link);
  }
  const known = identityOfEmail(turn, email.key);
  if (known === undefined) {
    const { identity } = register(turn, { type: 'RegisterIdentity', email: proof.email, passwordHash: null });
    const made = findIdentity(turn, identity.identity_id) as IdentityRow;
    // A new account has no name of its own yet.
    const named = {
      ...made,
      email_verified: true,
      display_name: shortName(proof.displayName ?? '') || made.display_name,
    };
    return linked(turn, named, proof);
  }
  const former = linkWith(known, providerId);
  if (former === undefined) return linked(turn, withProvenEmail(turn, known, place), proof);
  if (isWithIssuer(turn, former, providerId, issuer))
    throw new ServiceError('FORBIDDEN', 'The account is linked to another person of this provider');
  return linked(turn, withProvenEmail(turn, unlinked(turn, known, former), place), proof);
}

/** The identity with what the provider says of it now. Its own name and picture stay. */
function linked(turn: Turn, identity: IdentityRow, proof: ProviderProof): IdentityRow {
  const at = timestampOf(turn);
  const strategy = strategyOf(proof.providerId);
  const units = measureJson(proof.claims);
  const before = linkWith(identity, proof.providerId);
  const link: LinkedProvider = {
    strategy_id: strategy,
    issuer: proof.issuer,
    external_id: proof.externalId,
    claims: units >= 0 && units <= CLAIMS_UNITS_MAX ? proof.claims : {},
    groups: proof.groups.filter((group) => group.length <= GROUP_CHARACTERS_MAX).slice(0, GROUPS_MAX),
    linked_at: before?.linked_at ?? at,
    last_auth_at: at,
  };
  const others = identity.linked_providers.filter((each) => each !== before);
  const picture = proof.avatarUrl;
  const fits = picture !== null && picture !== '' && picture.length <= AVATAR_URL_CHARACTERS_MAX;
  return {
    ...identity,
    display_name: identity.display_name || shortName(proof.displayName ?? ''),
    avatar_url: identity.avatar_url ?? (fits ? picture : null),
    linked_providers: [...others, link],
  };
}

/**
 * The identity after the person has shown that the address is theirs. Until then anybody could have registered it, and
 * whoever did must not keep a way in: the password and the sessions go, unless the person is at a place where the
 * password was used.
 */
function withProvenEmail(turn: Turn, identity: IdentityRow, place: string): IdentityRow {
  if (identity.email_verified) return identity;
  const attempts = new LoginAttempts(turn, parseEmail(identity.email).key, true, turn.wallMs);
  const verified: IdentityRow = { ...identity, email_verified: true, updated_at: timestampOf(turn) };
  if (attempts.isKnown(requirePlace(place))) return verified;
  endSessions(turn, identity.identity_id, 'address_proven');
  attempts.forget(turn);
  return { ...verified, local_credentials: null };
}

/** A name that is stored: without spaces around it, and cut where it is too long. */
export function shortName(name: string): string {
  return [
    ...name
      .slice(0, 2 * DISPLAY_NAME_CHARACTERS_MAX)
      .toWellFormed()
      .trim(),
  ]
    .slice(0, DISPLAY_NAME_CHARACTERS_MAX)
    .join('');
}

/** Whole seconds, none of which ends too early. */
export function secondsOf(ms: number): number {
  return Math.ceil(ms / 1000);
}
