import type { GuardMutant } from './guard-mutant.ts';

const addressTest = ['test/protocols/egress/address-kind.test.ts'];
const urlTest = ['test/protocols/egress/checked-url.test.ts'];
const guardTest = ['test/protocols/egress/egress-guard.test.ts'];
const redirectTest = ['test/protocols/egress/egress-redirects.test.ts'];
const responseTest = ['test/protocols/egress/egress-responses.test.ts'];
const connectionTest = ['test/protocols/egress/egress-connections.test.ts'];

/** The safety guards of outgoing requests: where they go, and what servers can do to a member. */
export const egressGuards: readonly GuardMutant[] = [
  {
    guard: 'an IPv6 address that embeds an IPv4 address has its kind',
    file: 'protocols/egress/address-kind.ts',
    from: "    for (const embedding of embeddingPrefixes) list.addSubnet(embedding + address, 96 + prefix, 'ipv6');\n",
    to: '',
    tests: addressTest,
  },
  {
    guard: 'IPv6 addresses outside of global unicast are not public',
    file: 'protocols/egress/address-kind.ts',
    from: "return family === 'ipv4' || reachableIpv6.check(address, family) ? 'public' : 'forbidden';",
    to: "return 'public';",
    tests: addressTest,
  },
  {
    guard: 'addresses in a URL are judged without a name server',
    file: 'protocols/egress/checked-url.ts',
    from: '    checkAddress(host, allowance);\n',
    to: '',
    tests: urlTest,
  },
  {
    guard: 'one address that is not allowed refuses a name',
    file: 'protocols/egress/checked-hosts.ts',
    from: '!addresses.every(isAllowed)',
    to: '!addresses.some(isAllowed)',
    tests: guardTest,
  },
  {
    guard: 'a public address of this machine is not public to itself',
    file: 'protocols/egress/checked-hosts.ts',
    from: ' && !own.check(address, familyOf(address))',
    to: '',
    tests: guardTest,
  },
  {
    guard: 'the check of a host holds for a while only',
    file: 'protocols/egress/checked-hosts.ts',
    from: 'kept !== undefined && this.#clock.monotonicMs() - kept.atMs < CHECK_MS ? kept : undefined',
    to: 'kept',
    tests: guardTest,
  },
  {
    guard: 'a new connection has a check of its own',
    file: 'protocols/egress/egress-guard.ts',
    from: 'const checked = isUsable ? recent',
    to: 'const checked = recent !== undefined ? recent',
    tests: guardTest,
  },
  {
    guard: 'a connection is used only for the addresses it was made for',
    file: 'protocols/egress/egress-guard.ts',
    from: '...addresses.toSorted()',
    to: '...addresses.slice(0, 0)',
    tests: guardTest,
  },
  {
    guard: 'a request that may have an effect is not sent twice',
    file: 'protocols/egress/exchange.ts',
    from: ' && safeMethods.has(request.method)',
    to: '',
    tests: guardTest,
  },
  {
    guard: 'a body always has a length',
    file: 'protocols/egress/exchange.ts',
    from: "      ...(body === undefined ? {} : { 'content-length': body.length }),\n",
    to: '',
    tests: ['test/protocols/egress/egress-requests.test.ts'],
  },
  {
    guard: 'a tenant does not use the connections of another one',
    file: 'protocols/egress/egress-guard.ts',
    from: ', tenant].join',
    to: '].join',
    tests: guardTest,
  },
  {
    guard: 'certificates are verified',
    file: 'protocols/egress/exchange.ts',
    from: '    rejectUnauthorized: true,\n',
    to: '',
    tests: connectionTest,
  },
  {
    guard: 'a connection that is being made has a time',
    file: 'protocols/egress/exchange.ts',
    from: "    this.#limit('accept a connection', allowance.connectMs);\n",
    to: '',
    tests: connectionTest,
  },
  {
    guard: 'the URL of a redirect is checked',
    file: 'protocols/egress/outgoing-request.ts',
    from: 'const target = checkedUrl(next, allowance);',
    to: 'const target = { ...checkedUrl(url, allowance), url: new URL(text, url.href), host: new URL(text, url.href).hostname };',
    tests: redirectTest,
  },
  {
    guard: 'nothing is redirected from https to http',
    file: 'protocols/egress/outgoing-request.ts',
    from: 'if (isSecure && !target.isSecure)',
    to: 'if (false)',
    tests: connectionTest,
  },
  {
    guard: 'another origin receives no header that may be a credential',
    file: 'protocols/egress/outgoing-request.ts',
    from: 'if (!plainHeaders.has(name)) headers.delete(name);',
    to: "if (name === 'authorization') headers.delete(name);",
    tests: redirectTest,
  },
  {
    guard: 'another origin receives no body',
    file: 'protocols/egress/outgoing-request.ts',
    from: 'if (!isSameOrigin && body !== undefined)',
    to: 'if (false)',
    tests: redirectTest,
  },
  {
    guard: 'redirects are counted',
    file: 'protocols/egress/egress-guard.ts',
    from: 'if (followed >= this.#allowance.redirectsMax)',
    to: 'if (false)',
    tests: redirectTest,
  },
  {
    guard: 'decompressed bytes are counted',
    file: 'protocols/egress/response-body.ts',
    from: 'if (this.#bytes > responseBytesMax) throw',
    to: 'if (false) throw',
    tests: responseTest,
  },
  {
    guard: 'bytes are counted as they are sent',
    file: 'protocols/egress/response-body.ts',
    from: 'if (bytes > bytesMax) done',
    to: 'if (false) done',
    tests: responseTest,
  },
  {
    guard: 'a body in very small parts is ended',
    file: 'protocols/egress/response-body.ts',
    from: 'else if (parts > SMALL_PARTS_MAX + bytes / PART_BYTES_MIN)',
    to: 'else if (false)',
    tests: responseTest,
  },
  {
    guard: 'the silence of a server ends a response',
    file: 'protocols/egress/response-body.ts',
    from: 'const silence = this.#life.limit(idleMs,',
    to: 'const silence = this.#life.limit(2 ** 30,',
    tests: responseTest,
  },
  {
    guard: 'interim responses are counted',
    file: 'protocols/egress/exchange.ts',
    from: 'if (this.#interim > INTERIM_MAX)',
    to: 'if (false)',
    tests: responseTest,
  },
  {
    guard: 'one tenant leaves some requests to the others',
    file: 'protocols/egress/egress-slots.ts',
    from: 'if (own >= this.#perTenantMax)',
    to: 'if (false)',
    tests: guardTest,
  },
];
