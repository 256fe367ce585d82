import type { GuardMutant } from './guard-mutant.ts';

const boxTests = ['test/runtime/config/secret-box.test.ts'];
const stateTests = ['test/protocols/identity/oidc/login-state.test.ts'];
const landingTests = ['test/protocols/identity/oidc/landing-url.test.ts'];
const claimTests = ['test/protocols/identity/oidc/provider-claims.test.ts'];
const secretTests = ['test/protocols/identity/oidc/client-secret.test.ts'];
const loginTests = ['test/protocols/identity/oidc/oidc-logins.test.ts'];
const hostileTests = ['test/protocols/identity/oidc/hostile-providers.test.ts'];

/** The safety guards of logins at OpenID providers, and of sealed texts. */
export const oidcGuards: readonly GuardMutant[] = [
  {
    guard: 'a sealed text has one spelling',
    file: 'runtime/config/secret-box.ts',
    from: "&& bytes.toString('base64url') === text ?",
    to: '?',
    tests: boxTests,
  },
  {
    guard: 'the previous master key seals nothing',
    file: 'runtime/config/secret-box.ts',
    from: 'createCipheriv(CIPHER, derivedKey(this.#key, salt, purpose)',
    to: 'createCipheriv(CIPHER, derivedKey(this.#previous ?? this.#key, salt, purpose)',
    tests: boxTests,
  },
  {
    guard: 'a client secret belongs to a provider of a tenant',
    file: 'protocols/identity/oidc/client-secret.ts',
    from: 'function purposeOf(tenant: string, providerId: string): string {',
    to: "function purposeOf(tenant: string, providerId: string): string {\n  tenant = '';",
    tests: secretTests,
  },
  {
    guard: 'a login that was started long ago is over',
    file: 'protocols/identity/oidc/login-state.ts',
    from: 'return state.expiresMs > this.#clock.wallMs() ? state : undefined;',
    to: 'return state;',
    tests: stateTests,
  },
  {
    guard: 'a state is used once',
    file: 'protocols/identity/oidc/login-state.ts',
    from: 'if (this.#used.has(nonce)) return false;',
    to: '',
    tests: stateTests,
  },
  {
    guard: 'a path that leads to another host is no landing',
    file: 'protocols/identity/oidc/landing-url.ts',
    from: "!url.pathname.startsWith('//');",
    to: 'true;',
    tests: landingTests,
  },
  {
    guard: 'text that browsers misread is no landing',
    file: 'protocols/identity/oidc/landing-url.ts',
    from: "if (misread.test(text)) throw refused('has white space, a control character or a backslash');",
    to: '',
    tests: landingTests,
  },
  {
    guard: 'a landing at another origin must be allowed',
    file: 'protocols/identity/oidc/landing-url.ts',
    from: 'if (url.origin !== ownOrigin && !origins.includes(url.origin)) throw notAllowed();',
    to: '',
    tests: landingTests,
  },
  {
    guard: 'a claim of the token is not overridden, also when it says nothing',
    file: 'protocols/identity/oidc/provider-claims.ts',
    from: 'return value === undefined ? ownValue(userinfo, name) : value;',
    to: 'return ownValue(userinfo, name) ?? value;',
    tests: claimTests,
  },
  {
    guard: 'userinfo verifies the address that it names',
    file: 'protocols/identity/oidc/provider-claims.ts',
    from: 'return isYes(addedWord) && isSameAddress(signedEmail, ownValue(userinfo, emailName));',
    to: 'return isYes(addedWord);',
    tests: claimTests,
  },
  {
    guard: 'a token that says the address is not verified counts',
    file: 'protocols/identity/oidc/provider-claims.ts',
    from: 'if (signedWord !== undefined) return isYes(signedWord);',
    to: 'if (isYes(signedWord)) return true;',
    tests: claimTests,
  },
  {
    guard: 'the signature of an ID token is verified',
    file: 'protocols/identity/oidc/oidc-logins.ts',
    from: 'const signed = await verifiedIdToken(tokens.id_token, expected);',
    to: "await Promise.resolve(verifiedIdToken);\n      void expected;\n      const signed = JSON.parse(Buffer.from(tokens.id_token.split('.')[1] as string, 'base64url').toString()) as JsonObject;",
    tests: hostileTests,
    only: 'with claims that were changed',
  },
  {
    guard: 'an ID token that was given to another client is refused',
    file: 'runtime/access/identity/id-token.ts',
    from: 'if ((isForOthers || azp !== undefined) && azp !== clientId)',
    to: 'if (isForOthers && azp === 0)',
    tests: hostileTests,
    only: 'an ID token is refused',
  },
  {
    guard: 'a person is named with a text',
    file: 'runtime/access/identity/id-token.ts',
    from: "if (typeof sub !== 'string')",
    to: 'if (sub === null)',
    tests: ['test/runtime/access/identity/id-token.test.ts'],
  },
  {
    guard: 'keys that are too large are not used',
    file: 'runtime/access/identity/id-token.ts',
    from: 'isTextUpTo(n, MODULUS_CHARACTERS_MAX) &&',
    to: "typeof n === 'string' &&",
    tests: hostileTests,
    only: 'too large',
  },
  {
    guard: 'unknown keys have the key set fetched seldom',
    file: 'protocols/identity/oidc/provider-keys.ts',
    from: 'if (nowMs - this.#refetchedMs < REFETCH_MS) return undefined;',
    to: '',
    tests: loginTests,
  },
  {
    guard: 'a discovery document is that of the issuer',
    file: 'protocols/identity/oidc/provider-metadata.ts',
    from: 'URL.parse(metadata.issuer)?.href !== new URL(issuer).href)',
    to: 'metadata.issuer === issuer.slice(1))',
    tests: hostileTests,
    only: 'discovery document',
  },
  {
    guard: 'what is known of a provider ends with its settings',
    file: 'protocols/identity/oidc/known-providers.ts',
    from: 'known !== undefined && known.settings === settings && nowMs',
    to: 'known !== undefined && nowMs',
    tests: loginTests,
  },
  {
    guard: 'the answer of one provider is not taken for that of another one',
    file: 'protocols/identity/oidc/oidc-logins.ts',
    from: 'if (state === undefined || state.providerId !== answer.providerId) throw notUnderWay();',
    to: 'if (state === undefined) throw notUnderWay();',
    tests: hostileTests,
    only: 'of another provider',
  },
  {
    guard: 'a code goes to the provider with the settings that it was asked for with',
    file: 'protocols/identity/oidc/oidc-logins.ts',
    from: 'if (settingsOf(provider) !== state.settings) throw notUnderWay();',
    to: '',
    tests: hostileTests,
    only: 'configured otherwise',
  },
  {
    guard: 'a state is used before its code is redeemed',
    file: 'protocols/identity/oidc/oidc-logins.ts',
    from: 'if (!this.#states.use(state)) throw notUnderWay();',
    to: '',
    tests: hostileTests,
    only: 'is used once',
  },
  {
    guard: 'a disabled provider lets nobody in',
    file: 'protocols/identity/oidc/oidc-logins.ts',
    from: "if (!provider.enabled) throw new ServiceError('FORBIDDEN', 'The provider is switched off');",
    to: '',
    tests: loginTests,
  },
  {
    guard: 'a body that nobody reads does not keep its slot',
    file: 'protocols/identity/oidc/provider-fetch.ts',
    from: 'const bytes = await response.arrayBuffer();',
    to: 'const bytes = response.body;',
    tests: hostileTests,
  },
];
