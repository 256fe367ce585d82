import { expect } from 'vitest';
import type { TestRequest, TestResponse } from './http-client.ts';
import { linkIn, mailAuthority, TestMailServer } from './mail-server.ts';
import type { TestServerOptions } from './server.ts';

/** Sends requests to a server. */
type Send = (method: string, path: string, options?: TestRequest) => Promise<TestResponse>;

const account = { username: 'grove', password: 'a secret: ä' };

/**
 * A mail server that takes mail of one account only, and tenants that have its password. Mail that arrives proves that the
 * stored password was decrypted.
 */
export class TenantMail {
  readonly #mail: TestMailServer;
  #people = 0;

  private constructor(mail: TestMailServer) {
    this.#mail = mail;
  }

  static async start(): Promise<TenantMail> {
    return new TenantMail(await TestMailServer.start({ security: 'starttls', account }));
  }

  /** What a server needs to send mail to it. */
  get serverOptions(): Pick<TestServerOptions, 'authorities' | 'config'> {
    return { config: this.config, authorities: [mailAuthority] };
  }

  /** The section of the configuration, for a server in a process of its own. */
  get config(): string {
    return `[email]\nallow_private_servers = true\nallowed_ports = ["${this.#mail.port}"]\n`;
  }

  /** Stores the password in the configuration of a tenant. @param token of an administrator of it */
  async configure(send: Send, token: string, tenant = 'default'): Promise<void> {
    const main = {
      kind: 'smtp',
      host: '127.0.0.1',
      port: this.#mail.port,
      security: 'starttls',
      username: account.username,
      password: account.password,
      from: 'login@tenant.example',
      reply_to: null,
    };
    const email = {
      base_url: 'https://tenant.example',
      default_provider: 'main',
      redirect_allowlist: [],
      providers: { main },
    };
    const answer = await send('PUT', `/api/tenants/${tenant}/auth/config`, { token, body: { email } });
    expect(answer.status).toBe(200);
  }

  /** Lets somebody new of a tenant log in with a link that is sent by mail, through this server. */
  async logIn(send: Send, tenant = 'default'): Promise<void> {
    this.#people += 1;
    const email = `person-${this.#people}@example.org`;
    // A server that trusts the header counts each of them as a client of its own.
    const headers = {
      'x-tenant-id': tenant,
      'x-forwarded-for': `10.1.${this.#people >> 8}.${this.#people & 255}`,
    };
    const body = { email, password: 'a long password' };
    expect((await send('POST', '/auth/register', { headers, body })).status).toBe(200);
    const count = this.#mail.mails.length + 1;
    const asked = await send('POST', '/auth/magic-link', { headers, body: { email } });
    expect(asked.status).toBe(200);
    const mail = await this.#mail.received(count);
    expect(mail).toMatchObject({ user: account.username, to: [email], from: 'login@tenant.example' });
    const { pathname, search } = linkIn(mail);
    expect((await send('GET', pathname + search)).status).toBe(302);
  }

  stop(): Promise<void> {
    return this.#mail.stop();
  }
}

/** Stores another tenant. @returns the token of its administrator */
export async function tenantOf(send: Send, token: string, tenant: string): Promise<string> {
  const password = 'Another-Password-1';
  const admin = { username: 'admin', password, must_change_password: false };
  const body = { tenant_id: tenant, admin };
  const created = await send('POST', '/api/management/registry/tenants', { token, body });
  expect(created.status).toBe(201);
  const login = { username: 'admin', password };
  const answer = await send('POST', `/api/svc/sys/${tenant}/auth`, { body: login });
  expect(answer.status).toBe(200);
  return answer.json.token as string;
}
