import type { GuardMutant } from './guard-mutant.ts';

const accountsTest = ['test/actors/tenant/admin-accounts.test.ts'];
const authenticateTest = ['test/protocols/rest/access/authenticate.test.ts'];
const cacheTest = ['test/runtime/access/state-cache.test.ts'];
const usersTest = ['test/scenarios/admin-users.test.ts'];
const keysTest = ['test/scenarios/api-keys.test.ts'];
const loginTest = ['test/scenarios/admin-login.test.ts'];

/** The safety guards of administrator accounts, their tokens and keys. */
export const adminGuards: readonly GuardMutant[] = [
  {
    guard: 'a token of another kind is no token of an administrator',
    file: 'runtime/access/admin-tokens.ts',
    from: 'type?.type !== tokenType ||',
    to: '',
    tests: ['test/runtime/access/admin-tokens.test.ts'],
  },
  {
    guard: 'a forgotten state is not used again',
    file: 'runtime/access/state-cache.ts',
    from: '    this.#entries.delete(key);\n    this.#end(key);',
    to: '    this.#end(key);',
    tests: cacheTest,
  },
  {
    guard: 'a read that began before a change is not kept',
    file: 'runtime/access/state-cache.ts',
    from: 'if (read.isVoid) return this.get(key);',
    to: '',
    tests: cacheTest,
  },
  {
    guard: 'a state that was forgotten while a read took long is not used',
    file: 'runtime/access/state-cache.ts',
    from: 'return this.#entries.get(key) === spare ? spare.value : this.get(key);',
    to: 'return spare.value;',
    tests: cacheTest,
  },
  {
    guard: 'a state that cannot be read is used for a bounded time',
    file: 'runtime/access/state-cache.ts',
    from: 'entry !== undefined && nowMs - entry.readMs < graceMs ? entry : undefined;',
    to: 'entry;',
    tests: cacheTest,
  },
  {
    guard: 'a token of a deactivated or missing account is worth nothing',
    file: 'protocols/admin/admin-access.ts',
    from: '      state?.isActive !== true ||\n      state.passwordChangedMs',
    to: '      state === undefined ||\n      state.passwordChangedMs',
    tests: usersTest,
  },
  {
    guard: 'a token from before the last change of the password is worth nothing',
    file: 'protocols/admin/admin-access.ts',
    from: '      state.passwordChangedMs !== passwordChangedMs ||\n',
    to: '',
    tests: loginTest,
  },
  {
    guard: 'a token counts while the account has the flag of its interface',
    file: 'protocols/admin/admin-access.ts',
    from: '!state.caller.principal.accessFlags[interfaceFlags[via]]',
    to: 'interfaceFlags[via] === undefined',
    tests: usersTest,
  },
  {
    guard: 'a key of a deactivated account is worth nothing',
    file: 'protocols/admin/admin-access.ts',
    from: 'if (state?.isActive !== true || caller === undefined) throw invalidKey();',
    to: 'if (caller === undefined) throw invalidKey();',
    tests: keysTest,
  },
  {
    guard: 'a key needs the flag of its account',
    file: 'protocols/admin/admin-access.ts',
    from: 'if (!caller.principal.accessFlags.api_access)',
    to: 'if (false)',
    tests: keysTest,
  },
  {
    guard: 'a revoked key is worth nothing',
    file: 'protocols/admin/admin-access.ts',
    from: '    if (isActive)\n      keys.set',
    to: '    if (isActive !== undefined)\n      keys.set',
    tests: keysTest,
  },
  {
    guard: 'an account that is known to have changed counts also during an outage',
    file: 'protocols/admin/admin-access.ts',
    from: 'if (answer instanceof ServiceError) throw answer;',
    to: '',
    tests: ['test/protocols/admin/admin-access.test.ts'],
  },
  {
    guard: 'a signature alone suffices only where that is for outages',
    file: 'protocols/rest/access/authenticate.ts',
    from: '(request.route as RestRoute).duringOutages === true;',
    to: 'true;',
    tests: authenticateTest,
  },
  {
    guard: 'a key opens no accounts',
    file: 'protocols/rest/access/authenticate.ts',
    from: "if (audience !== 'content' && audience !== 'repositories')",
    to: 'if (false)',
    tests: authenticateTest,
  },
  {
    guard: 'the token of an identity opens nothing of administrators',
    file: 'protocols/rest/access/authenticate.ts',
    from: "if (audience === 'administration')",
    to: 'if (false)',
    tests: authenticateTest,
  },
  {
    guard: 'the token of an administrator opens nothing of identities',
    file: 'protocols/rest/access/authenticate.ts',
    from: "if (audience === 'identities')",
    to: 'if (false)',
    tests: authenticateTest,
  },
  {
    guard: 'a password that has to be changed opens nothing else',
    file: 'protocols/rest/access/authenticate.ts',
    from: 'if (mustChangePassword && beforePasswordChange !== true)',
    to: 'if (mustChangePassword && beforePasswordChange === false)',
    tests: authenticateTest,
  },
  {
    guard: 'a key opens nothing while the password has to be changed',
    file: 'protocols/rest/access/authenticate.ts',
    from: 'if (mustChangePassword) throw',
    to: 'if (false) throw',
    tests: authenticateTest,
  },
  {
    guard: 'acting as a user needs the flag',
    file: 'protocols/rest/access/impersonation.ts',
    from: 'if (!principal.accessFlags.can_impersonate) {',
    to: 'if (false) {',
    tests: authenticateTest,
  },
  {
    guard: 'a request acts as a user on content only',
    file: 'protocols/rest/access/authenticate.ts',
    from: "return audience === 'content' ? actingAs(request, principal) : principal;",
    to: 'return actingAs(request, principal);',
    tests: authenticateTest,
  },
  {
    guard: 'an active account that administers the others stays',
    file: 'actors/tenant/admin-accounts.ts',
    from: 'if (administers(account) && !administers(changed)) requireOther(turn, account.user_id);',
    to: '',
    tests: accountsTest,
  },
  {
    guard: 'the last account that administers the others is not deleted',
    file: 'actors/tenant/admin-accounts.ts',
    from: '  if (administers(account)) requireOther(turn, userId);',
    to: '',
    tests: accountsTest,
  },
  {
    guard: 'those who rely on an account are told of its changes',
    file: 'actors/tenant/admin-accounts.ts',
    from: '  writeRecord(turn, TenantTable.admins, account, account.user_id);\n  tellChanged(turn, account.user_id);',
    to: '  writeRecord(turn, TenantTable.admins, account, account.user_id);',
    tests: accountsTest,
  },
  {
    guard: 'those who rely on an account are told of its end',
    file: 'actors/tenant/admin-accounts.ts',
    from: '  tellChanged(turn, userId);\n  noteAction',
    to: '  noteAction',
    tests: accountsTest,
  },
  {
    guard: 'a hash with new parameters replaces only the one that was compared',
    file: 'actors/tenant/admin-accounts.ts',
    from: 'rehashed !== undefined && rehashed.judged === account.password_hash;',
    to: 'rehashed !== undefined;',
    tests: accountsTest,
  },
  {
    guard: 'a key is made only where it would work',
    file: 'actors/tenant/api-keys.ts',
    from: 'if (!account.access_flags.api_access)',
    to: 'if (false)',
    tests: accountsTest,
  },
];
