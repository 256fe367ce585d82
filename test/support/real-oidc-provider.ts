import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

/** A client that is registered at a provider. */
export interface RegisteredClient {
  readonly client_id: string;
  readonly redirect_uris: readonly string[];
  /** Absent: a public client. */
  readonly client_secret?: string;
  readonly token_endpoint_auth_method: 'client_secret_basic' | 'client_secret_post' | 'none';
}

/** What a provider knows of a person, by claim. */
export type Person = Readonly<Record<string, unknown>>;

/** Pages and redirects that a login may have. */
const STEPS_MAX = 20;

/** A certified OpenID provider in this process, with pages for logging in, and a browser to use them. */
export class RealOidcProvider {
  readonly #server: Server;
  /** By what a person types as the name. */
  readonly people = new Map<string, Person>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param inToken whether ID tokens have all claims; otherwise the userinfo endpoint has them */
  static async start(
    clientsOf: (issuer: string) => readonly RegisteredClient[],
    inToken: boolean,
  ): Promise<RealOidcProvider> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const real = new RealOidcProvider(server);
    const { privateKey } = await generateKeyPair('RS256', { extractable: true });
    const signing = { ...(await exportJWK(privateKey)), kid: 'key-1', use: 'sig', alg: 'RS256' };
    const provider = new Provider(real.issuer, {
      clients: clientsOf(real.issuer).map((client) => ({
        grant_types: ['authorization_code'],
        response_types: ['code'],
        ...client,
      })),
      jwks: { keys: [signing] },
      cookies: { keys: ['a key of the tests'] },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'picture'] },
      conformIdTokenClaims: !inToken,
      findAccount: (_context: unknown, name: string) => ({
        accountId: name,
        claims: () => Promise.resolve({ sub: name, ...real.people.get(name) }),
      }),
      features: { devInteractions: { enabled: true } },
      pkce: { required: () => true },
    });
    server.on('request', provider.callback());
    return real;
  }

  get issuer(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /**
   * Logs somebody in with a browser of their own.
   *
   * @param location where the browser is sent first
   * @returns where the provider sends the browser back to
   */
  logIn(location: URL, name: string): Promise<URL> {
    return this.#walk(location, (page) =>
      page.includes('name="prompt" value="login"')
        ? { prompt: 'login', login: name, password: 'any' }
        : { prompt: 'consent' },
    );
  }

  /** Goes to the provider and does not want to log in. @returns as {@link logIn} */
  decline(location: URL): Promise<URL> {
    return this.#walk(location, () => undefined);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => void this.#server.close(resolve));
  }

  /** @param answer the form for a page; undefined: the login is given up there */
  async #walk(
    location: URL,
    answer: (page: string) => Readonly<Record<string, string>> | undefined,
  ): Promise<URL> {
    const browser = new Browser();
    let url = location;
    let form: Readonly<Record<string, string>> | undefined;
    for (let step = 0; step < STEPS_MAX; step += 1) {
      if (url.origin !== this.issuer) return url;
      const { next, page } = await browser.go(url, form);
      form = next === undefined ? answer(page) : undefined;
      if (next !== undefined) url = next;
      else if (form === undefined) url = new URL(`${url.pathname}/abort`, url);
    }
    throw new Error(`the login goes on and on, at ${url.href}`);
  }
}

/** Keeps cookies, and follows nothing by itself. */
class Browser {
  readonly #cookies = new Map<string, string>();

  async go(
    url: URL,
    form: Readonly<Record<string, string>> | undefined,
  ): Promise<{ readonly next: URL | undefined; readonly page: string }> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const body = form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) };
    const response = await fetch(url, { ...body, headers: { cookie }, redirect: 'manual' });
    for (const set of response.headers.getSetCookie()) {
      const [name = '', value = ''] = (set.split(';')[0] as string).split('=');
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    const page = await response.text();
    const to = response.headers.get('location');
    if (to === null && !response.ok) throw new Error(`the provider answers ${response.status}: ${page}`);
    return { next: to === null ? undefined : new URL(to, url), page };
  }
}
