import type { GuardMutant } from './guard-mutant.ts';

const accessTest = ['test/actors/identities/repository-access.test.ts'];
const statusTest = ['test/server/jobs/user-status-changes.test.ts'];
const originsTest = ['test/protocols/rest/origins/allowed-origins.test.ts'];
const forwardedTest = ['test/protocols/http/uws-server.test.ts'];
const scenario = ['test/scenarios/access-requests.test.ts'];

const admissionTests = ['test/server/provisioning/revoked-invitations.test.ts'];

/** The safety guards of access to repositories and of what a page or a proxy may say. */
export const peopleGuards: readonly GuardMutant[] = [
  {
    guard: 'an invitation is for whoever has proven the address',
    file: 'actors/identities/repository-access.ts',
    from: ' || !identity.email_verified',
    to: '',
    tests: accessTest,
  },
  {
    guard: 'an invitation ends at its time',
    file: 'actors/identities/repository-access.ts',
    from: 'return isOpen && row.forget_ms > nowMs',
    to: 'return isOpen',
    tests: accessTest,
  },
  {
    guard: 'an invitation counts as it is after the node was read, which a revocation changes',
    file: 'server/provisioning/repository-users.ts',
    from: 'const invitation = await this.#people.takeInvitation(tenant, part, identity);',
    to: 'const invitation = found;',
    tests: ['test/server/provisioning/revoked-invitations.test.ts'],
  },
  {
    guard: 'an invitation that a login has begun to use is not withdrawn meanwhile',
    file: 'actors/identities/repository-access.ts',
    from: "(decision === 'active' || hasLeft(turn, found))",
    to: 'true',
    tests: accessTest,
  },
  {
    guard: 'an invitation that a login has begun to use does not change, and is not lost with the login',
    file: 'actors/identities/repository-access.ts',
    from: "status: 'active', updated_at: updatedAt, taken_ms: turn.wallMs",
    to: 'updated_at: updatedAt',
    tests: ['test/server/provisioning/revoked-invitations.test.ts'],
  },
  {
    guard: 'access that is granted is not lost when a login makes the node meanwhile',
    file: 'server/provisioning/repository-users.ts',
    from: 'if (made.length > 0 && by !== undefined) throw overtaken();',
    to: '',
    tests: ['test/server/provisioning/revoked-invitations.test.ts'],
    only: 'for the first time has',
  },
  {
    guard: 'a revocation ends the invitation of the person before it changes the node',
    file: 'protocols/rest/people/repository-members.ts',
    from: 'await endInvitation(repository.part);',
    to: '',
    tests: ['test/server/provisioning/revoked-invitations.test.ts'],
  },
  {
    guard: 'a request that was decided is not decided otherwise',
    file: 'actors/identities/repository-access.ts',
    from: "if (found.status !== 'pending' && found.status !== 'invited' && !isOpen)",
    to: 'if (false)',
    tests: accessTest,
  },
  {
    guard: 'the requests of a repository are bounded',
    file: 'actors/identities/repository-access.ts',
    from: "if (open.length >= most) throw new ServiceError('RATE_LIMITED', message);",
    to: '',
    tests: accessTest,
  },
  {
    guard: 'a change of a status goes back before a repository that was not reached',
    file: 'server/jobs/user-status-changes.ts',
    from: 'if (!hasFailed) {',
    to: 'if (true) {',
    tests: statusTest,
  },
  {
    guard: 'an older change does not end a newer one',
    file: 'actors/identities/status-changes.ts',
    from: 'return change?.changeId === changeId ? change : undefined;',
    to: 'return change;',
    tests: ['test/actors/identities/status-changes.test.ts'],
  },
  {
    guard: 'the node of a person who was removed does not come back',
    file: 'protocols/rest/people/user-nodes.ts',
    from: " || current === 'deleted'",
    to: '',
    tests: statusTest,
  },
  {
    guard: 'only those who decide on access give it',
    file: 'protocols/rest/people/deciders.ts',
    from: 'return roles.includes(EVERYTHING);',
    to: 'return roles.length > 0;',
    tests: scenario,
  },
  {
    guard: 'roles that somebody asks for are not given without a decision',
    file: 'protocols/rest/people/access-requests.ts',
    from: 'roles.length === 0 && !settings.require_approval',
    to: '!settings.require_approval',
    tests: scenario,
  },
  {
    guard: 'roles that are given exist',
    file: 'protocols/rest/people/repository-members.ts',
    from: 'if (unknown.length > 0)',
    to: 'if (false)',
    tests: scenario,
  },
  {
    guard: 'a node of another person is not given away',
    file: 'protocols/rest/people/repository-members.ts',
    from: "(owner !== undefined && owner !== null && owner !== '') || ",
    to: '',
    tests: ['test/scenarios/identity-users.test.ts'],
  },
  {
    guard: 'names that do not exist displace no list of origins',
    file: 'protocols/rest/origins/allowed-origins.ts',
    from: 'const entries = origins.length > 0 ? this.#lists : this.#empty;',
    to: 'const entries = this.#empty;',
    tests: originsTest,
  },
  {
    guard: 'remembered origins are bounded',
    file: 'runtime/base/queues/bounded-entries.ts',
    from: 'if (this.#entries.size >= this.#entriesMax)',
    to: 'if (false)',
    tests: originsTest,
  },
  {
    guard: 'of forwarded addresses the entry of the proxy counts',
    file: 'protocols/http/requests/forwarded.ts',
    from: ".split(',').at(-1)?.trim()",
    to: ".split(',').at(0)?.trim()",
    tests: forwardedTest,
  },
  {
    guard: 'a forwarded text that is no address is the address of nobody',
    file: 'protocols/http/requests/forwarded.ts',
    from: 'return isIP(address) === 0 ? undefined : address;',
    to: 'return address;',
    tests: forwardedTest,
  },
  {
    guard: 'a request lets nobody in again whose access was ended',
    file: 'server/provisioning/repository-users.ts',
    from: 'if (node !== undefined && grounds.endsSuspension === false && isSuspended(node)) return undefined;',
    to: '',
    tests: admissionTests,
  },
  {
    guard: 'switching an account on gives no access back',
    file: 'protocols/rest/people/user-nodes.ts',
    from: 'return !canLogin || (status',
    to: 'return (status',
    tests: admissionTests,
  },
  {
    guard: 'a grant gives no prepared node to who has not proven its address',
    file: 'server/provisioning/repository-users.ts',
    from: '(found.userId !== null || !isVerified)',
    to: 'found.userId !== null',
    tests: admissionTests,
  },
  {
    guard: 'a login claims a node only as it was read',
    file: 'server/provisioning/repository-users.ts',
    from: 'expected: { version: node.version },',
    to: '',
    tests: admissionTests,
  },
  {
    guard: 'of two links at once not both stay',
    file: 'protocols/rest/people/repository-members.ts',
    from: 'await this.#requireOnly(place, path, identityId, by);',
    to: '',
    tests: admissionTests,
  },
  {
    guard: 'no account is made whose repositories would refuse it',
    file: 'protocols/rest/people/identity-users.ts',
    from: 'await members.requireAdmissible(tenant, repository, { email: address, email_verified: emailVerified });',
    to: '',
    tests: ['test/scenarios/identity-users.test.ts'],
  },
  {
    guard: 'what an administrator did is recorded, however long its details are',
    file: 'actors/tenant/audit-trail.ts',
    from: 'details: shortened(details)',
    to: 'details',
    tests: ['test/actors/tenant/admin-accounts.test.ts'],
  },
];
