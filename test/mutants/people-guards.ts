import type { GuardMutant } from './guard-mutant.ts';

const statusTest = ['test/server/jobs/user-status-changes.test.ts'];
const originsTest = ['test/protocols/rest/origins/allowed-origins.test.ts'];
const forwardedTest = ['test/protocols/http/requests/forwarded.test.ts'];

/** The safety guards of the status of people, and of what a page or a proxy may say. */
export const peopleGuards: readonly GuardMutant[] = [
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
    guard: 'of forwarded headers the entry of the proxy counts',
    file: 'protocols/http/requests/forwarded.ts',
    from: ".split(',').at(-1)?.trim()",
    to: ".split(',').at(0)?.trim()",
    tests: forwardedTest,
  },
  {
    guard: 'forwarded headers count only where they are trusted',
    file: 'protocols/http/requests/forwarded.ts',
    from: 'if (trustForwardedHeaders) {',
    to: 'if (true) {',
    tests: forwardedTest,
  },
  {
    guard: 'a link is made of a host only',
    file: 'protocols/http/requests/forwarded.ts',
    from: ' || !hostShape.test(host)',
    to: '',
    tests: forwardedTest,
  },
];
