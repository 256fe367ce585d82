import type { GuardMutant } from './guard-mutant.ts';

const landingTest = ['test/runtime/access/identity/landing-address.test.ts'];
const requestsTest = ['test/actors/identities/link-requests.test.ts'];
const routesTest = ['test/protocols/rest/identity/magic-link.test.ts'];
const dialTest = ['test/protocols/egress/guarded-dial.test.ts'];
const deliveryTest = ['test/server/mail/smtp-delivery.test.ts'];
const mailTest = ['test/server/mail/member-mail.test.ts'];
const settingsTest = ['test/runtime/access/identity/email-settings.test.ts'];

/** The safety guards of login links and of mail. */
export const mailGuards: readonly GuardMutant[] = [
  {
    guard: 'a person lands below whole segments of an allowed path',
    file: 'runtime/access/identity/landing-address.ts',
    from: "base.pathname.replace(/\\/*$/, '/')",
    to: "base.pathname.replace(/\\/*$/, '')",
    tests: landingTest,
  },
  {
    guard: 'a person lands at an allowed origin',
    file: 'runtime/access/identity/landing-address.ts',
    from: 'if (url.origin !== base.origin) return false;',
    to: 'if (!url.origin.startsWith(base.origin)) return false;',
    tests: landingTest,
  },
  {
    guard: 'a landing address has no user name',
    file: 'runtime/access/identity/landing-address.ts',
    from: "if (url.username !== '' || url.password !== '') return undefined;",
    to: '',
    tests: landingTest,
  },
  {
    guard: 'a landing address has no backslash, fragment or control character',
    file: 'runtime/access/identity/landing-address.ts',
    from: ' || refusedCharacters.test(text)',
    to: '',
    tests: landingTest,
  },
  {
    guard: 'the path of a landing address has no encoded separators',
    file: 'runtime/access/identity/landing-address.ts',
    from: 'if (encodedSeparators.test(path)) return undefined;',
    to: '',
    tests: landingTest,
  },
  {
    guard: 'requests for links are limited by address and by client',
    file: 'actors/identities/link-requests.ts',
    from: '  for (const subject of subjects) requireRoom(turn, subject);\n',
    to: '',
    tests: requestsTest,
  },
  {
    guard: 'requests for an address with an account are not forgotten for others',
    file: 'actors/identities/link-requests.ts',
    from: "kind: identityOfEmail(turn, key) === undefined ? 'other-requests' : 'account-requests',",
    to: "kind: 'other-requests',",
    tests: requestsTest,
  },
  {
    guard: 'links that wait to be sent are bounded',
    file: 'actors/identities/link-requests.ts',
    from: "if (counted(turn, 'link') >= LINKS_WAITING_MAX)",
    to: 'if (false)',
    tests: requestsTest,
  },
  {
    guard: 'a link that has expired is good for nothing',
    file: 'actors/identities/link-requests.ts',
    from: 'return token === undefined || token.expires_ms <= nowMs',
    to: 'return token === undefined',
    tests: requestsTest,
  },
  {
    guard: 'a link is good for the repository that it was asked for',
    file: 'protocols/identity/magic-links.ts',
    from: 'if (sent === undefined || sent.repository !== (repository ?? null)) throw useless();',
    to: 'if (sent === undefined) throw useless();',
    tests: routesTest,
  },
  {
    guard: 'the place where a person lands is checked',
    file: 'protocols/identity/magic-links.ts',
    from: 'const landing = allowedLanding(redirectUrl ?? new URL(setup.baseUrl).href, setup.landings);',
    to: 'const landing = redirectUrl ?? new URL(setup.baseUrl).href;',
    tests: routesTest,
  },
  {
    guard: 'HEAD does not use a link',
    file: 'protocols/rest/identity/magic-link.ts',
    from: "  if (request.method === 'HEAD') return { status: 204, headers: privateHeaders };\n",
    to: '',
    tests: routesTest,
  },
  {
    guard: 'a browser that loads pages in advance does not use a link',
    file: 'protocols/rest/identity/magic-link.ts',
    from: '  if (isInAdvance(request)) return { status: 503, headers: privateHeaders };\n',
    to: '',
    tests: routesTest,
  },
  {
    guard: 'no mail goes to an account that is not active',
    file: 'server/mail/member-mail.ts',
    from: 'identity?.is_active !== true ||',
    to: 'identity === undefined ||',
    tests: routesTest,
  },
  {
    guard: 'no mail is sent for a repository that does not exist',
    file: 'server/mail/member-mail.ts',
    from: ' || !(await this.#hasRepository(tenant, link.repository))',
    to: '',
    tests: routesTest,
  },
  {
    guard: 'a tenant has a share of the mails that are sent at once',
    file: 'server/mail/member-mail.ts',
    from: '(this.#running.get(each) ?? 0) < AT_ONCE_PER_TENANT_MAX',
    to: 'each.length > 0',
    tests: mailTest,
  },
  {
    guard: 'a link is not sent after its time',
    file: 'server/mail/member-mail.ts',
    from: "if (link.expires_ms <= clock.wallMs()) return await this.#drop(tenant, link, 'it was not sent in time');",
    to: '',
    tests: mailTest,
  },
  {
    guard: 'mail servers of tenants have the ports of mail',
    file: 'protocols/egress/guarded-dial.ts',
    from: '    this.#checkPort(port);\n',
    to: '',
    tests: dialTest,
  },
  {
    guard: 'mail servers of tenants are used with TLS',
    file: 'protocols/egress/guarded-dial.ts',
    from: 'if (!isSecure && !this.#allowance.allowPrivateAddresses)',
    to: 'if (false)',
    tests: dialTest,
  },
  {
    guard: 'a connection is made to an address of its check',
    file: 'protocols/egress/guarded-dial.ts',
    from: '      lookup: pinnedLookup(host, addresses),\n',
    to: '',
    tests: dialTest,
  },
  {
    guard: 'the certificate of a mail server is verified',
    file: 'server/mail/smtp-delivery.ts',
    from: 'rejectUnauthorized: true,',
    to: 'rejectUnauthorized: false,',
    tests: deliveryTest,
  },
  {
    guard: 'the certificate of a mail server names it',
    file: 'server/mail/smtp-delivery.ts',
    from: 'checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),',
    to: 'checkServerIdentity: () => undefined,',
    tests: deliveryTest,
  },
  {
    guard: 'a mail server may not send without end',
    file: 'server/mail/smtp-delivery.ts',
    from: '        maxResponseSize: ANSWER_BYTES_MAX,\n',
    to: '        maxResponseSize: 2 ** 40,\n',
    tests: deliveryTest,
  },
  {
    guard: 'a stored password stays with its server',
    file: 'runtime/access/identity/email-settings.ts',
    from: '      known.host === given.host &&\n',
    to: '',
    tests: settingsTest,
  },
  {
    guard: 'a stored password stays with the protection of its connection',
    file: 'runtime/access/identity/email-settings.ts',
    from: '      known.security === given.security &&\n',
    to: '',
    tests: settingsTest,
  },
];
