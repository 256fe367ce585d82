import { expect } from 'vitest';
import type { TestRequest, TestResponse } from './http-client.ts';
import type { TestServer } from './server.ts';
import { until } from './until.ts';

/** Password of every account that {@link AdminClient} makes. */
export const ACCOUNT_PASSWORD = 'Made-For-Tests-2026';

/** Members of a cluster of the tests; each request goes to the next one. */
const MEMBERS = 3;

/** The accounts of the administrators of tenant `default`. */
export class AdminClient {
  readonly #server: TestServer;

  constructor(server: TestServer) {
    this.#server = server;
  }

  /** Makes an account. @returns its token */
  async account(username: string, fields: object = {}): Promise<string> {
    const body = { username, password: ACCOUNT_PASSWORD, ...fields };
    const made = await this.#server.admin('POST', '/api/svc/sys/default/admin-users', body);
    expect([made.status, made.text]).toEqual([201, expect.any(String)]);
    return this.logIn(username);
  }

  /** @returns the token */
  async logIn(username: string, password = ACCOUNT_PASSWORD): Promise<string> {
    const login = await this.#server.request('POST', '/api/svc/sys/default/auth', {
      body: { username, password },
    });
    expect([login.status, login.text]).toEqual([200, expect.any(String)]);
    return login.json.token as string;
  }

  /** Changes an account. */
  async change(username: string, changes: object): Promise<TestResponse> {
    const changed = await this.#server.admin('PUT', `/api/svc/sys/default/admin-users/${username}`, changes);
    expect([changed.status, changed.text]).toEqual([200, expect.any(String)]);
    return changed;
  }

  /** Waits until every member answers a request with a status, which one of them has to do at once. */
  async everywhere(status: number, method: string, path: string, request: TestRequest): Promise<void> {
    for (let member = 0; member < MEMBERS; member += 1)
      await until(
        async () => (await this.#server.request(method, path, request)).status === status,
        `${method} ${path} is answered ${status}`,
      );
  }
}
