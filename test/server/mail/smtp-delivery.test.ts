import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { mailAllowance, operatorMailAllowance } from '#protocols/egress/allowance.ts';
import { GuardedDialer } from '#protocols/egress/guarded-dial.ts';
import type { MailServer } from '#protocols/identity/email-setups.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { Secret } from '#runtime/config/secret.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { loginLinkMail, type Mail } from '#server/mail/login-link-mail.ts';
import { deliver, type DeliveryOutcome } from '#server/mail/smtp-delivery.ts';
import {
  linkIn,
  mailAuthority,
  mailCertificate,
  type MailServerOptions,
  TestMailServer,
} from '#test/support/mail-server.ts';
import { until } from '#test/support/until.ts';

const account = { username: 'ann', password: 'p:ä ß' };
const receiver = 'ben@example.org';
const link = `https://www.example.org/auth/magic-link/verify?token=${'A'.repeat(43)}.ZGVmYXVsdA`;

const cleanups: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function started(options: MailServerOptions = {}): Promise<TestMailServer> {
  const server = await TestMailServer.start(options);
  cleanups.push(() => server.stop());
  return server;
}

/** Sockets that a hostile server has at present. */
const open = new Set<Socket>();

/** A server that does what a test says with each connection. */
async function hostile(talk: (socket: Socket) => void): Promise<number> {
  const server: Server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => open.delete(socket));
    talk(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => void server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** Answers commands in the order of their arrival with lines of a list; the rest stays without one. */
function answering(socket: Socket, lines: readonly string[]): void {
  const left = [...lines];
  socket.write(`${left.shift()}\r\n`);
  socket.on('data', (bytes) => {
    for (const _ of String(bytes).matchAll(/\r\n/g)) {
      const line = left.shift();
      if (line !== undefined) socket.write(`${line}\r\n`);
    }
  });
}

function serverAt(port: number, more: Partial<MailServer> = {}): MailServer {
  return {
    host: '127.0.0.1',
    port,
    security: 'none',
    account: undefined,
    from: { name: 'Example', address: 'login@example.org' },
    replyTo: undefined,
    isOperators: true,
    ...more,
  };
}

interface Way {
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
  readonly authorities?: readonly string[];
  readonly to?: string;
  readonly compose?: () => Promise<Mail | undefined>;
}

function send(server: MailServer, way: Way = {}): Promise<DeliveryOutcome> {
  const { authorities = [mailAuthority], clock = systemClock, signal = new AbortController().signal } = way;
  const { email } = loadOptions({}, () => undefined);
  const compose = (): Promise<Mail | undefined> =>
    loginLinkMail(server, {
      to: way.to ?? receiver,
      link,
      site: 'www.example.org',
      minutes: 15,
      nowMs: Date.now(),
      id: 'id',
    });
  return deliver(
    {
      dialer: new GuardedDialer(mailAllowance(email), { clock }),
      operatorDialer: new GuardedDialer(operatorMailAllowance(), { clock }),
      clock,
      authorities,
    },
    server,
    'www.example.org',
    way.compose ?? compose,
    signal,
  );
}

async function errorOf(work: Promise<unknown>): Promise<ServiceError> {
  const outcome = await work.then(
    (value: unknown) => new Error(`it came to ${String(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof ServiceError) return outcome;
  throw outcome;
}

const accountOf = ({ password, username }: typeof account): MailServer['account'] => ({
  username,
  password: new Secret(password),
});

describe('a mail', () => {
  it.each(['tls', 'starttls', 'none'] as const)(
    'is sent over a connection with security %s, with user name and password',
    async (security) => {
      const server = await started({ security, account });
      const outcome = await send(serverAt(server.port, { security, account: accountOf(account) }));
      const mail = await server.received();
      expect(outcome).toBe('sent');
      expect(mail).toMatchObject({
        from: 'login@example.org',
        to: [receiver],
        isSecure: security !== 'none',
        user: 'ann',
        client: 'www.example.org',
      });
      expect(linkIn(mail).href).toBe(link);
    },
  );

  it('is sent without an account to a server that needs none', async () => {
    const server = await started();
    expect(await send(serverAt(server.port))).toBe('sent');
    expect(await server.received()).toMatchObject({ user: undefined });
  });

  it('is not made before the server would take it', async () => {
    const composed: string[] = [];
    const compose = (): Promise<undefined> => {
      composed.push('made');
      return Promise.resolve(undefined);
    };
    const server = await started({ security: 'tls', account });
    const wrong = accountOf({ ...account, password: 'wrong' });
    await errorOf(send(serverAt(server.port, { security: 'tls', account: wrong }), { compose }));
    const plain = await started();
    await errorOf(send(serverAt(plain.port, { security: 'tls' }), { compose }));
    await errorOf(send(serverAt(plain.port, { security: 'starttls' }), { compose }));
    expect(composed).toEqual([]);
    const right = serverAt(server.port, { security: 'tls', account: accountOf(account) });
    expect(await send(right, { compose })).toBe('withdrawn');
    expect(composed).toEqual(['made']);
    expect(server.mails).toEqual([]);
  });

  it('is refused for good, or has to be tried again, as the server says', async () => {
    const server = await started();
    server.refusal = (address) => (address === receiver ? 550 : undefined);
    expect(await send(serverAt(server.port))).toBe('refused');
    server.refusal = () => 450;
    const error = await errorOf(send(serverAt(server.port)));
    expect(error).toMatchObject({ code: 'UPSTREAM_INVALID', details: { smtp: 'EENVELOPE', status: 450 } });
    expect(error.message).not.toContain(receiver);
    expect(JSON.stringify(error.details)).not.toContain(receiver);
    const port = await hostile((socket) => answering(socket, ['220 x', '250 x', '553 not from there']));
    expect((await errorOf(send(serverAt(port)))).code).toBe('UPSTREAM_INVALID');
    expect(server.mails).toEqual([]);
  });
});

describe('a mail server', () => {
  it('must have a certificate of a known authority that names it', async () => {
    for (const security of ['tls', 'starttls'] as const) {
      const server = await started({ security });
      const unknown = await errorOf(send(serverAt(server.port, { security }), { authorities: [] }));
      expect(unknown.code).toBe('UPSTREAM_UNREACHABLE');
      expect(unknown.message).toContain('certificate');
      // The certificate is for 127.0.0.1 and localhost.
      const misnamed = serverAt(server.port, { security, host: 'mail.localhost' });
      expect((await errorOf(send(misnamed))).code).toBe('UPSTREAM_UNREACHABLE');
      expect(await send(serverAt(server.port, { security, host: 'localhost' }))).toBe('sent');
      expect(server.mails).toHaveLength(1);
    }
  });

  it('must offer STARTTLS where it is wanted, and gets no password without', async () => {
    const heard: string[] = [];
    for (const lines of [
      ['220 x', '250-x\r\n250 AUTH PLAIN LOGIN', '502 no', '235 ok'],
      ['220 x', '502 no', '250 x', '502 no', '235 ok'],
      ['220 x', '250-x\r\n250 STARTTLS', '454 not now', '235 ok'],
    ]) {
      const port = await hostile((socket) => {
        socket.on('data', (bytes) => heard.push(String(bytes)));
        answering(socket, lines);
      });
      const server = serverAt(port, { security: 'starttls', account: accountOf(account) });
      await errorOf(send(server));
    }
    expect(heard.join('')).not.toMatch(/AUTH/);
    expect(heard.join('')).toMatch(/STARTTLS/);
  });

  it('is not believed what it, or somebody in the middle, has said before TLS', async () => {
    const heard: string[] = [];
    const port = await hostile((socket) => {
      socket.write('220 x\r\n');
      socket.once('data', () => {
        socket.write('250-x\r\n250 STARTTLS\r\n');
        socket.once('data', () => {
          // Answers to everything that would be asked over TLS.
          socket.write(
            '220 go\r\n250-x\r\n250 AUTH PLAIN\r\n235 ok\r\n250 ok\r\n250 ok\r\n354 go\r\n250 ok\r\n',
          );
          const { certificate: cert, key } = mailCertificate;
          const secured = new TLSSocket(socket, { isServer: true, cert, key });
          secured.on('error', () => undefined);
          secured.on('data', (bytes) => {
            heard.push(String(bytes));
            secured.write(String(bytes).startsWith('AUTH') ? '535 no\r\n' : '250-x\r\n250 AUTH PLAIN\r\n');
          });
        });
      });
    });
    const server = serverAt(port, { security: 'starttls', account: accountOf(account) });
    expect(await errorOf(send(server))).toMatchObject({ details: { smtp: 'EAUTH', status: 535 } });
    expect(heard.map((line) => line.split(' ', 1)[0])).toEqual(['EHLO', 'AUTH']);
  });

  it('that closes the connection fails the attempt, whenever it does', async () => {
    for (const lines of [
      [],
      ['220 x'],
      ['220 x', '250 x'],
      ['220 x', '250 x', '250 x', '250 x'],
      ['421 no service'],
    ]) {
      const port = await hostile((socket) => {
        if (lines.length === 0) {
          socket.end();
          return;
        }
        let left = lines.length - 1;
        answering(socket, lines);
        const look = (): void => {
          if (left <= 0) socket.end();
          left -= 1;
        };
        socket.on('data', look);
        if (lines[0]?.startsWith('421')) socket.end();
      });
      expect((await errorOf(send(serverAt(port)))).code).toMatch(/^UPSTREAM_/);
    }
  });

  it('that does not talk SMTP fails the attempt', async () => {
    for (const line of ['HTTP/1.1 400 Bad Request', 'SSH-2.0-OpenSSH', '554 go away', '\0\0\0\0']) {
      const port = await hostile((socket) => answering(socket, [line]));
      expect((await errorOf(send(serverAt(port)))).code).toMatch(/^UPSTREAM_/);
    }
    expect((await errorOf(send(serverAt(1)))).code).toBe('UPSTREAM_UNREACHABLE');
  });

  it.each([
    ['a line without an end', Buffer.alloc(64 * 1024, 'x')],
    ['lines of an answer without an end', Buffer.from('220-welcome to this server\r\n'.repeat(2_000))],
    ['answers that nobody asked for', Buffer.from('250 ok\r\n'.repeat(8_000))],
  ])('may not send without end: %s', async (_title, bytes) => {
    let sent = 0;
    const port = await hostile((socket) => {
      const flood = (): void => {
        while (!socket.destroyed && socket.write(bytes)) sent += bytes.length;
      };
      socket.on('drain', flood);
      flood();
    });
    const before = process.memoryUsage().arrayBuffers;
    const error = await errorOf(send(serverAt(port)));
    expect(error.code).toMatch(/^UPSTREAM_INVALID|UPSTREAM_UNREACHABLE$/);
    await until(() => open.size === 0, 'the connection is closed');
    expect(sent).toBeLessThan(256 * 1024 * 1024);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(256 * 1024 * 1024);
  });

  it('that hangs is left: when its caller stops, and at the end of the attempt', async () => {
    const port = await hostile((socket) => answering(socket, ['220 x', '250 x']));
    const caller = new AbortController();
    const stopped = send(serverAt(port), { signal: caller.signal });
    await until(() => open.size === 1, 'the server has a connection');
    const reason = new ServiceError('SHUTTING_DOWN');
    caller.abort(reason);
    expect(await errorOf(stopped)).toBe(reason);
    await until(() => open.size === 0, 'the connection is closed');
    // A clock whose timers end as soon as there is a connection.
    const timers: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      wallMs: () => systemClock.wallMs(),
      monotonicMs: () => systemClock.monotonicMs(),
      after: (ms, work) => {
        if (ms !== 30_000) return systemClock.after(ms, work);
        timers.push(work);
        return { cancel: () => void timers.splice(0) };
      },
    };
    const late = errorOf(send(serverAt(port), { clock }));
    await until(() => open.size === 1, 'the server has a connection');
    for (const end of [...timers]) end();
    expect((await late).code).toBe('UPSTREAM_TIMEOUT');
    await until(() => open.size === 0, 'the connection is closed');
  });

  it('that is slow is waited for', async () => {
    const server = await started();
    let goOn: (() => void) | undefined;
    server.pause = () =>
      new Promise((resolve) => {
        goOn = resolve;
      });
    let isDone = false;
    const sending = send(serverAt(server.port)).finally(() => {
      isDone = true;
    });
    await until(() => goOn !== undefined, 'the server has the mail');
    expect(isDone).toBe(false);
    goOn?.();
    expect(await sending).toBe('sent');
  });

  it('of a tenant must be public', async () => {
    const server = await started();
    const error = await errorOf(send(serverAt(server.port, { isOperators: false, security: 'tls' })));
    expect(error.code).toBe('EGRESS_REFUSED');
    const plain = await errorOf(
      send(serverAt(25, { isOperators: false, host: 'mail.example.org', security: 'none' })),
    );
    expect(plain).toMatchObject({ code: 'EGRESS_REFUSED', details: { reason: 'scheme' } });
    expect(server.mails).toEqual([]);
  });

  it('of the operator may be on this machine', async () => {
    const server = await started();
    expect(await send(serverAt(server.port))).toBe('sent');
  });
});
