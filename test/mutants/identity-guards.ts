import type { GuardMutant } from './guard-mutant.ts';

const attemptsTest = ['test/actors/identities/login-attempts.test.ts'];
const sessionsTest = ['test/actors/identities/sessions.test.ts'];
const tokensTest = ['test/runtime/access/identity/identity-tokens.test.ts'];
const callersTest = ['test/protocols/identity/identity-callers.test.ts'];
const usersTest = ['test/server/provisioning/repository-users.test.ts'];
const loginsTest = ['test/protocols/rest/identity/login-routes.test.ts'];
const throttleTest = ['test/runtime/access/login-throttle.test.ts'];
const networkTest = ['test/runtime/access/network-limit.test.ts'];
const guessesTest = ['test/protocols/identity/identity-logins.test.ts'];
const linksTest = ['test/actors/identities/one-time-tokens.test.ts'];

/** The safety guards of identities: nobody gets in with what is not theirs, or not any more. */
export const identityGuards: readonly GuardMutant[] = [
  {
    guard: 'a password that was changed while it was compared lets nobody in',
    file: 'actors/identities/logins.ts',
    from: 'if (credentials.password_hash !== judged)',
    to: 'if (false)',
    tests: attemptsTest,
  },
  {
    guard: 'a right password is refused when a lock was set while it was compared',
    file: 'actors/identities/logins.ts',
    from: 'if (lockedMs > 0) throw accountLocked(secondsOf(lockedMs));',
    to: '',
    tests: attemptsTest,
  },
  {
    guard: 'failures of strangers do not lock a place of the person',
    file: 'actors/identities/login-attempts.ts',
    from: 'return this.isKnown(place) ? place : EVERYWHERE;',
    to: 'return EVERYWHERE;',
    tests: attemptsTest,
  },
  {
    guard: 'a login of the person gives strangers no further guesses during their lock',
    file: 'actors/identities/login-attempts.ts',
    from: 'lockedMsOf(everywhere, limits.lockout_duration_minutes * MINUTE_MS, turn.wallMs) === 0',
    to: 'true',
    tests: attemptsTest,
  },
  {
    guard: 'failures at an address without an account are counted',
    file: 'actors/identities/logins.ts',
    from: '  attempts.failed(turn, bounded, configuration);',
    to: '  if (identity !== undefined) attempts.failed(turn, bounded, configuration);',
    tests: attemptsTest,
  },
  {
    guard: 'wrong passwords at many accounts are counted together',
    file: 'protocols/identity/identity-logins.ts',
    from: '    throttle.guesses.count(client.address);\n',
    to: '',
    tests: guessesTest,
    only: 'many accounts',
  },
  {
    guard: 'a network without failures left is refused',
    file: 'protocols/identity/identity-logins.ts',
    from: 'if (found?.isKnownPlace !== true) throttle.guesses.requireOpen(client.address);',
    to: '',
    tests: guessesTest,
    only: 'many accounts',
  },
  {
    guard: 'strangers do not hold up a person who has logged in from the same network',
    file: 'protocols/identity/identity-logins.ts',
    from: 'if (found?.isKnownPlace !== true) throttle',
    to: 'throttle',
    tests: guessesTest,
    only: 'many accounts',
  },
  {
    guard: 'registrations are counted by network',
    file: 'protocols/identity/identity-logins.ts',
    from: '      throttle.registrations.count(client.address);\n',
    to: '',
    tests: guessesTest,
    only: 'many accounts',
  },
  {
    guard: 'strangers do not hold up an administrator who has logged in from the same network',
    file: 'runtime/access/login-throttle.ts',
    from: 'isUsed ? 0 : this.#networks.waitMs(address),',
    to: 'this.#networks.waitMs(address),',
    tests: throttleTest,
  },
  {
    guard: 'the login of an administrator who is not held up lets nobody else try',
    file: 'runtime/access/failure-book.ts',
    from: 'openAtMs: known.openedAtMs',
    to: 'openAtMs: known.lastMs',
    tests: throttleTest,
  },
  {
    guard: 'failures of a network are forgiven while there are new ones',
    file: 'runtime/access/failure-book.ts',
    from: 'known.count - (nowMs - known.lastMs) / forgiveMs',
    to: 'known.count',
    tests: networkTest,
  },
  {
    guard: 'a refresh token is exchanged once',
    file: 'actors/identities/sessions.ts',
    from: 'session.token_generation !== command.generation || session.token_hash !== command.tokenHash',
    to: 'false',
    tests: sessionsTest,
  },
  {
    guard: 'a refresh token is the one that was issued, not only its generation',
    file: 'actors/identities/sessions.ts',
    from: ' || session.token_hash !== command.tokenHash',
    to: '',
    tests: sessionsTest,
  },
  {
    guard: 'the second use of a refresh token ends the session',
    file: 'actors/identities/sessions.ts',
    from: "end(turn, session, 'token_reused');",
    to: '',
    tests: sessionsTest,
  },
  {
    guard: 'a session that ended is not refreshed',
    file: 'actors/identities/sessions.ts',
    from: "if (session.revoked !== null) return refused('SESSION_REVOKED');",
    to: '',
    tests: sessionsTest,
  },
  {
    guard: 'a one-time token is used once',
    file: 'actors/identities/one-time-tokens.ts',
    from: "  dropUntil(turn, 'token', name, token.expires_ms);\n  const [emailKey] = name;",
    to: '  const [emailKey] = name;',
    tests: linksTest,
  },
  {
    guard: 'the password of a stranger ends when the person proves the address',
    file: 'actors/identities/logins.ts',
    from: 'return { ...verified, local_credentials: null };',
    to: 'return verified;',
    tests: linksTest,
  },
  {
    guard: 'a password replaces only the one that was compared',
    file: 'actors/identities/identities-actor.ts',
    from: 'if ((credentials?.password_hash ?? null) !== judged)',
    to: 'if (false)',
    tests: ['test/actors/identities/identities-actor.test.ts'],
  },
  {
    guard: 'a refresh token is no access token',
    file: 'runtime/access/identity/identity-tokens.ts',
    from: "if (typeOf(claims) !== 'access') return undefined;",
    to: '',
    tests: tokensTest,
  },
  {
    guard: 'an access token is no refresh token',
    file: 'runtime/access/identity/identity-tokens.ts',
    from: " || typeOf(claims) !== 'refresh'",
    to: '',
    tests: tokensTest,
  },
  {
    guard: 'a deactivated identity is refused although its token is valid',
    file: 'protocols/identity/identity-callers.ts',
    from: "if (!isActive) throw new ServiceError('ACCOUNT_DISABLED');",
    to: '',
    tests: callersTest,
  },
  {
    guard: 'what was read of an identity before a change is dropped when the change is told',
    file: 'protocols/identity/identity-callers.ts',
    from: '    this.#recent.delete(key);\n    this.#older.delete(key);\n    this.#reading.delete(key);',
    to: '',
    tests: callersTest,
  },
  {
    guard: 'what is being read of an identity during a change is not kept',
    file: 'protocols/identity/identity-callers.ts',
    from: '        if (isCurrent()) this.#keep(key, state);',
    to: '        this.#keep(key, state);',
    tests: callersTest,
  },
  {
    guard: 'what was read of an identity counts for a short time',
    file: 'protocols/identity/identity-callers.ts',
    from: 'kept !== undefined && this.#context.clock.monotonicMs() < kept.untilMs',
    to: 'kept !== undefined',
    tests: callersTest,
  },
  {
    guard: 'a tenant administrator is one at present',
    file: 'protocols/identity/identity-callers.ts',
    from: 'return isActive && isTenantAdmin;',
    to: 'return isTenantAdmin;',
    tests: callersTest,
  },
  {
    guard: 'a node with an address is not given to who has not proven the address',
    file: 'server/provisioning/repository-users.ts',
    from: 'if (node.userId !== null || !identity.email_verified) return undefined;',
    to: 'if (node.userId !== null) return undefined;',
    tests: usersTest,
  },
  {
    guard: 'a repository that takes nobody registers nobody',
    file: 'protocols/rest/identity/login-routes.ts',
    from: "throw new ServiceError('FORBIDDEN', 'Nobody may register there');",
    to: 'void 0;',
    tests: loginsTest,
  },
  {
    guard: 'no answer with tokens is kept for an idempotency key',
    file: 'protocols/rest/identity/login-routes.ts',
    from: 'return refusingIdempotencyKey(routes);',
    to: 'return routes;',
    tests: loginsTest,
  },
  {
    guard: 'only an administrator of the tenant configures it',
    file: 'protocols/rest/identity/auth-configuration.ts',
    from: 'if (!isAdministrator) requireTenantAdministrator(request);',
    to: '',
    tests: ['test/protocols/rest/identity/auth-configuration.test.ts'],
  },
  {
    guard: 'a route of identities takes no token of another kind',
    file: 'protocols/rest/access/authenticate.ts',
    from: "if (audience === 'identities')",
    to: 'if (false)',
    tests: ['test/protocols/rest/identity/own-identity.test.ts'],
  },
];
