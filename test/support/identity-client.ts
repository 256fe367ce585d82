import { decodeJwt, type JWTPayload } from 'jose';
import type { TestResponse } from './http-client.ts';
import type { TestServer } from './server.ts';

/** Password of everybody in the tests. */
export const PASSWORD = 'a good password';

/** Options of a request of a person. */
export interface PersonRequest {
  readonly body?: unknown;
  readonly token?: string;
  readonly tenant?: string;
  /** Where the person is; needs `SVC_TRUST_FORWARDED_HEADERS`. */
  readonly from?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A person who has registered. */
export interface Registered {
  readonly email: string;
  readonly id: string;
  readonly access: string;
  readonly refresh: string;
  readonly claims: JWTPayload;
}

/** People who use a server over HTTP. */
export class IdentityClient {
  readonly #server: TestServer;
  #count = 0;

  constructor(server: TestServer) {
    this.#server = server;
  }

  /** An address that nobody has. */
  newEmail(name = 'person'): string {
    this.#count += 1;
    return `${name}.${this.#count}@example.org`;
  }

  send(method: string, path: string, options: PersonRequest = {}): Promise<TestResponse> {
    const { body, from, tenant, token } = options;
    const headers = {
      ...(tenant === undefined ? {} : { 'x-tenant-id': tenant }),
      ...(from === undefined ? {} : { 'x-forwarded-for': from }),
      ...options.headers,
    };
    return this.#server.request(method, path, {
      headers,
      ...(token === undefined ? {} : { token }),
      ...(body === undefined ? {} : { body }),
    });
  }

  /** @param place `/auth` or `/auth/{repo}` */
  register(email: string, place = '/auth', more: PersonRequest = {}): Promise<TestResponse> {
    const body = { email, password: PASSWORD, display_name: 'Ann' };
    return this.send('POST', `${place}/register`, { ...more, body });
  }

  logIn(
    email: string,
    password = PASSWORD,
    place = '/auth',
    more: PersonRequest = {},
  ): Promise<TestResponse> {
    return this.send('POST', `${place}/login`, { ...more, body: { email, password } });
  }

  refresh(token: string, place = '/auth', more: PersonRequest = {}): Promise<TestResponse> {
    return this.send('POST', `${place}/refresh`, { ...more, body: { refresh_token: token } });
  }

  /** Registers somebody. */
  async person(place = '/auth', more: PersonRequest = {}): Promise<Registered> {
    const email = this.newEmail();
    const answer = await this.register(email, place, more);
    if (answer.status !== 200) throw new Error(`cannot register: ${answer.status} ${answer.text}`);
    const { access_token: access, identity, refresh_token: refresh } = answer.json;
    return { email, id: identity.id, access, refresh, claims: decodeJwt(access) };
  }
}
