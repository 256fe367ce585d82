import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { LANDING, MagicLinksFixture } from '#test/support/magic-links-fixture.ts';
import { linkIn, TestMailServer } from '#test/support/mail-server.ts';
import { settle } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';
import type { EmailSettingsChange } from '#runtime/access/identity/email-settings.ts';

const ann = 'ann@example.org';
const MINUTE = 60_000;

const cleanups: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function mailServer(port?: number): Promise<TestMailServer> {
  const server = await TestMailServer.start(port === undefined ? {} : { port });
  cleanups.push(() => server.stop());
  return server;
}

async function memberWith(
  env: Readonly<Record<string, string>> | number,
  config = '',
): Promise<MagicLinksFixture> {
  const real = await MagicLinksFixture.open(env, config);
  cleanups.push(() => real.close());
  return real;
}

/** A port where nobody listens. */
async function freePort(): Promise<number> {
  const server = await TestMailServer.start();
  const { port } = server;
  await server.stop();
  return port;
}

/** A mail server that greets nobody. */
async function hanging(): Promise<{
  readonly port: number;
  /** Its connections at present. */
  readonly sockets: ReadonlySet<Socket>;
  /** The most connections that it had at once. */
  most(): number;
}> {
  const sockets = new Set<Socket>();
  let most = 0;
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    most = Math.max(most, sockets.size);
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => void server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, sockets, most: () => most };
}

const failures = (real: MagicLinksFixture): readonly Record<string, unknown>[] =>
  real.logLines.filter(({ message, msg }) =>
    String(message ?? msg).startsWith('a login link could not be sent'),
  );

/** Settings of a tenant with a server on this machine. */
function settings(port: number, more: object = {}): EmailSettingsChange {
  return {
    base_url: 'https://acme.example',
    default_provider: 'main',
    redirect_allowlist: [],
    providers: {
      main: {
        kind: 'smtp',
        host: '127.0.0.1',
        port,
        security: 'none',
        username: null,
        password: null,
        from: 'login@acme.example',
        reply_to: null,
        ...more,
      },
    },
  };
}

describe('the mail of a member', () => {
  it('is tried again until the mail server takes it', async () => {
    const port = await freePort();
    const real = await memberWith(port);
    await real.register(ann);
    await real.ask(ann);
    await until(() => failures(real).length === 1, 'the first attempt has failed');
    expect(real.waiting()).toHaveLength(1);
    const mail = await mailServer(port);
    // The wait before the next attempt is not over.
    expect(mail.mails).toEqual([]);
    real.clock.advance(2_500);
    const received = await mail.received();
    await real.allSent();
    expect((await real.follow(received)).status).toBe(302);
    real.clock.advance(15 * MINUTE);
    expect(mail.mails).toHaveLength(1);
  });

  it('is given up when its link would have expired', async () => {
    const port = await freePort();
    const real = await memberWith(port);
    await real.register(ann);
    await real.ask(ann);
    await until(() => failures(real).length === 1, 'the first attempt has failed');
    const mail = await mailServer(port);
    real.clock.advance(15 * MINUTE);
    await real.allSent();
    expect(mail.mails).toEqual([]);
    expect(real.logLines.some(({ reason }) => reason === 'it was not sent in time')).toBe(true);
  });

  it('is given up when the mail server refuses the receiver', async () => {
    const mail = await mailServer();
    mail.refusal = () => 550;
    const real = await memberWith(mail.port);
    await real.register(ann);
    await real.ask(ann);
    await real.allSent();
    expect(real.logLines.some(({ reason }) => reason === 'the mail server refuses it')).toBe(true);
  });

  it('is sent by the next process when this one ends', async () => {
    const { port, sockets } = await hanging();
    const real = await memberWith(port);
    await real.register(ann);
    await real.ask(ann);
    await until(() => sockets.size === 1, 'the mail server has a connection');
    await real.restart();
    expect(real.waiting()).toHaveLength(1);
    await until(() => sockets.size === 1, 'the next process tries it');
    const mail = await mailServer();
    await real.configureOperator(mail.port);
    const received = await mail.received();
    await real.allSent();
    expect((await real.follow(received)).status).toBe(302);
  });

  it('has one token for each mail that was sent: those of failed attempts are not made', async () => {
    const { port, sockets } = await hanging();
    const real = await memberWith(port);
    await real.register(ann);
    for (let request = 0; request < 5; request += 1) await real.ask(ann);
    await until(() => sockets.size === 4, 'the mail server has all connections of the tenant');
    const mail = await mailServer();
    await real.configureOperator(mail.port);
    await real.allSent();
    expect(mail.mails).toHaveLength(5);
    // The newest five are good, so all of them.
    for (const each of mail.mails) expect((await real.follow(each)).status).toBe(302);
  });

  it('of one tenant does not wait for the mail servers of another', async () => {
    const { most, port, sockets } = await hanging();
    const mail = await mailServer();
    const real = await memberWith(
      {
        SVC_SMTP_URL: `smtp://127.0.0.1:${mail.port}?security=none`,
        SVC_EMAIL_FROM: 'login@example.org',
        SVC_EMAIL_BASE_URL: LANDING,
        SVC_CONFIG: 'svc.toml',
      },
      `[email]\nallow_private_servers = true\nallowed_ports = ["${port}"]\n`,
    );
    await real.configure({ email: settings(port) }, 'acme');
    for (let person = 0; person < 20; person += 1) {
      await real.register(`p${person}@example.org`, 'acme');
      await real.askFrom(person, `p${person}@example.org`, 'acme');
    }
    await until(() => sockets.size === 4, 'the mail server has all connections of the tenant');
    await real.register(ann);
    await real.ask(ann);
    await mail.received();
    expect(real.waiting('acme')).toHaveLength(20);
    // A member sends 16 at once. Connections that were given up may still be closing on a slow machine.
    expect(most()).toBeLessThan(16);
  });

  it('goes through the mail server of the tenant, with its password', async () => {
    const account = { username: 'acme', password: 'geheim' };
    const mail = await TestMailServer.start({ security: 'starttls', account });
    cleanups.push(() => mail.stop());
    const real = await memberWith(
      { SVC_CONFIG: 'svc.toml' },
      `[email]\nallow_private_servers = true\nallowed_ports = ["${mail.port}"]\n`,
    );
    await real.configure(
      {
        email: settings(mail.port, {
          security: 'starttls',
          username: account.username,
          password: real.sealed('acme', 'main', account.password),
        }),
      },
      'acme',
    );
    await real.register(ann, 'acme');
    await real.ask(ann, {}, '/auth/magic-link', 'acme');
    const received = await mail.received();
    expect(received).toMatchObject({ from: 'login@acme.example', isSecure: true, user: 'acme' });
    expect(linkIn(received).origin).toBe('https://acme.example');
    expect((await real.follow(received)).headers.location).toMatch(/^https:\/\/acme\.example\/#/);
    // The other tenant has no mail.
    expect((await real.ask(ann)).status).toBe(503);
  });

  it('never connects to this machine for a tenant, and tells nobody but the operator', async () => {
    const mail = await mailServer();
    const real = await memberWith({});
    await real.configure({ email: settings(mail.port) }, 'acme');
    await real.register(ann, 'acme');
    expect((await real.ask(ann, {}, '/auth/magic-link', 'acme')).status).toBe(200);
    await until(() => failures(real).length === 1, 'the attempt was refused');
    expect(failures(real)[0]).toMatchObject({ code: 'EGRESS_REFUSED', tenant: 'acme' });
    expect(mail.mails).toEqual([]);
  });

  it('is not sent when mail or links are switched off meanwhile', async () => {
    const { port, sockets } = await hanging();
    const mail = await mailServer();
    const real = await memberWith(port);
    await real.register(ann);
    await real.ask(ann);
    await until(() => sockets.size === 1, 'the mail server has a connection');
    await real.configure({ magic_link: { enabled: false, token_ttl_minutes: 15 } });
    expect(real.waiting()).toHaveLength(1);
    await real.configureOperator(mail.port);
    await real.allSent();
    expect(mail.mails).toEqual([]);
  });

  it('goes to the address of the account, however it was typed', async () => {
    const mail = await mailServer();
    const real = await memberWith(mail.port);
    await real.register(ann);
    await real.ask(' ANN@Example.ORG ');
    expect((await mail.received()).to).toEqual([ann]);
  });

  it('leaves no connection behind when it ends, and makes none', async () => {
    const { port, sockets } = await hanging();
    const real = await memberWith(port);
    await real.register(ann);
    await real.ask(ann);
    await until(() => sockets.size === 1, 'the mail server has a connection');
    await real.endMail();
    await until(() => sockets.size === 0, 'the connection is closed');
    await real.ask(ann);
    real.clock.advance(10 * MINUTE);
    await settle();
    expect(sockets.size).toBe(0);
    expect(real.waiting()).toHaveLength(2);
  });
});
