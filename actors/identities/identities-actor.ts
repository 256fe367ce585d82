import {
  mergedAuthConfiguration,
  providerOf,
  type AuthConfiguration,
} from '#runtime/access/identity/auth-configuration.ts';
import { parseEmail } from '#runtime/access/identity/email-address.ts';
import { withChangedProvider } from '#runtime/access/identity/provider-changes.ts';
import { storedSecrets, withReplacedSecrets } from '#runtime/access/identity/stored-secrets.ts';
import { requireAdministrator } from '#runtime/access/policy.ts';
import { unknownMessage } from '#runtime/actor/unknown-message.ts';
import type { ActorBehaviour, ActorKind, Caller, QueryContext, Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { spaceUseByType } from '#runtime/space/space-use.ts';
import { countAbsentLink, countAbsentLogin, findAbsentLock } from './absent-tenants.ts';
import { sweep } from './agenda.ts';
import {
  configurationOf,
  findIdentity,
  identityOfText,
  removeIdentity,
  requireIdentity,
  saveIdentity,
  shownIdentity,
  storedConfiguration,
  timestampOf,
} from './identity-store.ts';
import {
  AUTHENTICATION,
  identitiesTableNames,
  IdentitiesTable,
  type IdentityRow,
  putRow,
} from './identities-tables.ts';
import { isReplaceable, wasWritten } from './left-by-restore.ts';
import { endLink, findSentLink, findWaitingLink, listWaitingLinks, requestLink } from './link-requests.ts';
import { listIdentities } from './list-identities.ts';
import { LoginAttempts } from './login-attempts.ts';
import { countFailure, findCredentials, logIn, register, requirePlace, shortName } from './logins.ts';
import type {
  AuthenticationConfigured,
  ChangeProvider,
  ConfigureAuthentication,
  DeleteIdentity,
  FindIdentity,
  IdentitiesCommand,
  IdentitiesQuery,
  Identity,
  IdentityChanged,
  ProviderChanged,
  ReplaceSecrets,
  SetPassword,
  UpdateIdentity,
} from './messages.ts';
import { dropAllTokens, dropLoginTokens, issueToken, useToken } from './one-time-tokens.ts';
import { noteIssuers } from './provider-links.ts';
import {
  decideAccess,
  dropAccessOf,
  endInvitation,
  findAccess,
  findInvitation,
  inviteToRepository,
  listAccess,
  requestAccess,
  takeInvitation,
} from './repository-access.ts';
import {
  endSessions,
  listSessions,
  noteActivity,
  refreshSession,
  removeSessions,
  requireOpenSession,
  revokeSession,
} from './sessions.ts';
import { beginStatusChange, endStatusChange, listStatusChanges, noteStatusChange } from './status-changes.ts';

const authenticationConfigured: AuthenticationConfigured = Object.freeze({
  type: 'AuthenticationConfigured',
});

/** Commands and queries that an administrator may send as well as the engine. */
const forAdministrators: ReadonlySet<string> = new Set([
  'UpdateIdentity',
  'DeleteIdentity',
  'RevokeSessions',
  'ConfigureAuthentication',
  'ChangeProvider',
  'FindIdentity',
  'ListIdentities',
]);

/**
 * The people of one tenant who log in, their sessions, and how they authenticate.
 *
 * Invariants: invariants.md in this folder.
 */
class IdentitiesActor implements ActorBehaviour {
  execute(command: IdentitiesCommand, turn: Turn): unknown {
    requireSender(command.type, turn.caller);
    // The same secrets under another key are nothing that a restore would lose.
    if (command.type === 'ReplaceSecrets') return replaceSecrets(turn, command);
    wasWritten(turn);
    switch (command.type) {
      case 'RegisterIdentity':
        sweep(turn);
        return register(turn, command);
      case 'OpenSession':
        sweep(turn);
        return logIn(turn, command);
      case 'CountFailedLogin':
        sweep(turn);
        return countFailure(turn, command);
      case 'CountAbsentLogin':
        sweep(turn);
        return countAbsentLogin(turn, command);
      case 'CountAbsentLink':
        sweep(turn);
        return countAbsentLink(turn, command);
      case 'RefreshSession':
        return refreshSession(turn, command);
      case 'RevokeSession':
        return revokeSession(turn, command);
      case 'RevokeSessions':
        return endSessions(turn, command.identityId, 'revoked', command.exceptSessionId);
      case 'NoteActivity':
        return noteActivity(turn, command);
      case 'SetPassword':
        return setPassword(turn, command);
      case 'UpdateIdentity':
        return update(turn, command);
      case 'DeleteIdentity':
        return remove(turn, command);
      case 'IssueOneTimeToken':
        sweep(turn);
        return issueToken(turn, command);
      case 'UseOneTimeToken':
        return useToken(turn, command.kind, command.tokenHash);
      case 'RequestLink':
        sweep(turn);
        return requestLink(turn, command);
      case 'EndLink':
        return endLink(turn, command.id);
      case 'ConfigureAuthentication':
        return configure(turn, command);
      case 'ChangeProvider':
        return changeProvider(turn, command);
      case 'RequestAccess':
        sweep(turn);
        return requestAccess(turn, command);
      case 'DecideAccess':
        return decideAccess(turn, command);
      case 'InviteToRepository':
        sweep(turn);
        return inviteToRepository(turn, command);
      case 'TakeInvitation':
        return takeInvitation(turn, command);
      case 'EndInvitation':
        return endInvitation(turn, command);
      case 'NoteStatusChange':
        return noteStatusChange(turn, command);
      case 'EndStatusChange':
        return endStatusChange(turn, command);
      default:
        return unknownMessage(command);
    }
  }

  query(query: IdentitiesQuery, context: QueryContext): unknown {
    const { caller, clock, view } = context;
    requireSender(query.type, caller);
    switch (query.type) {
      case 'FindIdentity':
        return find(query, view);
      case 'FindCredentials':
        return findCredentials(view, query, clock.wallMs());
      case 'FindAbsentLock':
        return findAbsentLock(view, query, clock.wallMs());
      case 'ListSessions':
        return listSessions(view, query, clock.wallMs());
      case 'ListIdentities':
        return listIdentities(query, context);
      case 'ReadAuthentication':
        return {
          configuration: configurationOf(view),
          isStored: storedConfiguration(view) !== undefined,
        };
      case 'FindSentLink':
        return findSentLink(view, query.tokenHash, clock.wallMs());
      case 'FindWaitingLink':
        return findWaitingLink(view, query.id);
      case 'ListWaitingLinks':
        return listWaitingLinks(view);
      case 'IsReplaceable':
        return isReplaceable(view);
      case 'FindAccess':
        return findAccess(view, query, clock.wallMs());
      case 'FindInvitation':
        return findInvitation(view, query, clock.wallMs());
      case 'ListAccess':
        return listAccess(query, context);
      case 'ListStatusChanges':
        return listStatusChanges(view, query);
      default:
        return unknownMessage(query);
    }
  }
}

/** Credentials and sessions are for the engine, which acts for a person whose token it has verified. */
function requireSender(type: string, { policy, principal }: Caller): void {
  if (forAdministrators.has(type)) requireAdministrator(policy, principal);
  else if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}

function find({ email, identityId }: FindIdentity, view: QueryContext['view']): Identity | undefined {
  const found = identityId === undefined ? identityOfText(view, email ?? '') : findIdentity(view, identityId);
  return found === undefined ? undefined : shownIdentity(found);
}

function setPassword(turn: Turn, command: SetPassword): void {
  const { identityId, judged, keptSessionId, passwordHash, place } = command;
  const identity = requireIdentity(turn, identityId);
  if (!identity.is_active) throw new ServiceError('ACCOUNT_DISABLED');
  // Without an old password the session alone says that it is the person: one that has ended may be a stranger's.
  if (judged === null || keptSessionId !== undefined)
    requireOpenSession(turn, identityId, keptSessionId, turn.wallMs);
  const credentials = identity.local_credentials;
  if ((credentials?.password_hash ?? null) !== judged)
    throw new ServiceError('CONFLICT', 'The password was changed meanwhile');
  saveIdentity(turn, {
    ...identity,
    local_credentials: {
      password_hash: passwordHash,
      must_change_password: false,
      password_changed_ms: turn.wallMs,
    },
    updated_at: timestampOf(turn),
  });
  tellChanged(turn, identityId);
  endSessions(turn, identityId, 'password_changed', keptSessionId);
  const { key } = parseEmail(identity.email);
  dropLoginTokens(turn, key);
  if (place === undefined) return;
  new LoginAttempts(turn, key, true, turn.wallMs).succeeded(turn, requirePlace(place), configurationOf(turn));
}

function update(turn: Turn, { changes, identityId }: UpdateIdentity): Identity {
  const identity = requireIdentity(turn, identityId);
  const { display_name: name, must_change_password: mustChange, ...rest } = changes;
  const credentials = identity.local_credentials;
  const changed: IdentityRow = {
    ...identity,
    ...rest,
    display_name: name === undefined ? identity.display_name : shortName(name),
    local_credentials:
      credentials === null || mustChange === undefined
        ? credentials
        : { ...credentials, must_change_password: mustChange },
    updated_at: timestampOf(turn),
  };
  saveIdentity(turn, changed);
  if (changed.is_active !== identity.is_active)
    beginStatusChange(turn, identityId, changed.is_active ? 'active' : 'inactive');
  tellChanged(turn, identityId);
  return shownIdentity(changed);
}

function remove(turn: Turn, { identityId }: DeleteIdentity): Identity {
  const identity = requireIdentity(turn, identityId);
  const { key } = parseEmail(identity.email);
  removeSessions(turn, identityId);
  dropAllTokens(turn, key);
  new LoginAttempts(turn, key, true, turn.wallMs).forget(turn);
  dropAccessOf(turn, identityId);
  removeIdentity(turn, identity);
  beginStatusChange(turn, identityId, 'deleted');
  tellChanged(turn, identityId);
  return shownIdentity(identity);
}

function configure(turn: Turn, { change }: ConfigureAuthentication): AuthConfiguration {
  return storeConfiguration(turn, mergedAuthConfiguration(configurationOf(turn), change));
}

function changeProvider(turn: Turn, { change }: ChangeProvider): ProviderChanged {
  const stored = configurationOf(turn);
  if (change.kind === 'remove' && providerOf(stored, change.id) === undefined)
    return { configuration: stored, isChanged: false };
  return { configuration: storeConfiguration(turn, withChangedProvider(stored, change)), isChanged: true };
}

function storeConfiguration(turn: Turn, configuration: AuthConfiguration): AuthConfiguration {
  noteIssuers(turn);
  putRow(turn, IdentitiesTable.settings, configuration, AUTHENTICATION);
  turn.emit(authenticationConfigured);
  return configuration;
}

function replaceSecrets(turn: Turn, { replacements }: ReplaceSecrets): boolean {
  const stored = storedConfiguration(turn);
  if (stored === undefined) return false;
  const given = new Map(replacements);
  if (!storedSecrets(stored).some(({ sealed }) => given.has(sealed))) return false;
  putRow(turn, IdentitiesTable.settings, withReplacedSecrets(stored, given), AUTHENTICATION);
  turn.emit(authenticationConfigured);
  return true;
}

function tellChanged(turn: Turn, identityId: string): void {
  const event: IdentityChanged = { type: 'IdentityChanged', identityId };
  turn.emit(event);
}

/** The kind `identities`: one actor for each tenant in which somebody registered or that was configured, id `{tenant}/identities`. */
export const identitiesActor: ActorKind = Object.freeze({
  kind: 'identities',
  tables: identitiesTableNames,
  // A person must be able to end what should not go on, whatever else is impossible.
  spaceUse: spaceUseByType<IdentitiesCommand['type']>([
    'RevokeSession',
    'RevokeSessions',
    'DeleteIdentity',
    'UpdateIdentity',
    'SetPassword',
    'NoteStatusChange',
    'EndStatusChange',
    'EndLink',
  ]),
  create: () => new IdentitiesActor(),
});
