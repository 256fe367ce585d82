import type { GuardMutant } from './guard-mutant.ts';

const originsTest = ['test/protocols/rest/origins/allowed-origins.test.ts'];
const forwardedTest = ['test/protocols/http/requests/forwarded.test.ts'];

/** The safety guards of what a page or a proxy may say. */
export const peopleGuards: readonly GuardMutant[] = [
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
