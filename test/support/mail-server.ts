import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';
import { makeServerCertificates } from '#operator/local-cluster/certificates.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { MailSecurity } from '#runtime/config/mail-checks.ts';
import { until } from './until.ts';

/** A mail as a server got it. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  /** Headers and bodies as they were sent. */
  readonly raw: string;
  readonly isSecure: boolean;
  /** The account that sent it; undefined: none. */
  readonly user: string | undefined;
  /** What the client called itself. */
  readonly client: string;
}

/** How a mail server of a test differs from one without TLS and accounts. */
export interface MailServerOptions {
  readonly security?: MailSecurity;
  readonly account?: { readonly username: string; readonly password: string };
  /** Port to listen on. Default: a free one. */
  readonly port?: number;
}

const certificates = makeServerCertificates(['127.0.0.1', 'localhost'], Date.now(), systemRandom);

/** The authority of the certificates of {@link TestMailServer}, as PEM. */
export const mailAuthority = certificates.authority;

/** The certificate of {@link TestMailServer} with its key, as PEM. */
export const mailCertificate = certificates.server;

/** A real mail server on loopback, which keeps what it gets. */
export class TestMailServer {
  readonly #server: SMTPServer;
  readonly mails: ReceivedMail[] = [];
  /** Status that a receiver is refused with; undefined: it is not. */
  refusal: ((receiver: string) => number | undefined) | undefined;
  /** Called before a mail is taken; it is taken when the promise resolves. */
  pause: (() => Promise<void>) | undefined;

  private constructor({ account, security = 'none' }: MailServerOptions) {
    const { certificate: cert, key } = certificates.server;
    this.#server = new SMTPServer({
      secure: security === 'tls',
      ...(security === 'none' ? {} : { cert, key }),
      authOptional: account === undefined,
      allowInsecureAuth: security === 'none',
      disabledCommands: security === 'none' ? ['STARTTLS'] : [],
      disableReverseLookup: true,
      closeTimeout: 1,
      onAuth: ({ password, username }, _session, done) => {
        const fits = account !== undefined && username === account.username && password === account.password;
        if (fits) done(null, { user: account.username });
        else done(failure(535, 'wrong user name or password'));
      },
      onRcptTo: ({ address }, _session, done) => {
        const status = this.refusal?.(address);
        if (status === undefined) done();
        else done(failure(status, `no mail for ${address}`));
      },
      onData: (stream, session, done) => {
        const parts: Buffer[] = [];
        stream.on('data', (part: Buffer) => parts.push(part));
        stream.on('end', () => {
          const { envelope, hostNameAppearsAs: client, secure: isSecure, user } = session;
          const mail: ReceivedMail = {
            from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
            to: envelope.rcptTo.map(({ address }) => address),
            raw: Buffer.concat(parts).toString(),
            isSecure,
            user,
            client,
          };
          void (this.pause?.() ?? Promise.resolve()).then(() => {
            this.mails.push(mail);
            done();
          });
        });
      },
    });
    // A client that goes away is no fault of the server.
    this.#server.on('error', () => undefined);
  }

  static async start(options: MailServerOptions = {}): Promise<TestMailServer> {
    const server = new TestMailServer(options);
    const listening = server.#server.listen(options.port ?? 0, '127.0.0.1');
    await once(listening, 'listening');
    return server;
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port;
  }

  /** Waits for a number of mails. @returns the last one */
  async received(count = 1): Promise<ReceivedMail> {
    await until(() => this.mails.length >= count, `${count} mails have arrived`);
    return this.mails[count - 1] as ReceivedMail;
  }

  stop(): Promise<void> {
    return new Promise((resolve) => this.#server.close(resolve));
  }
}

/** The address with a token in the plain text of a mail. */
export function linkIn({ raw }: Pick<ReceivedMail, 'raw'>): URL {
  const found = /^https?:\/\/\S+\/magic-link\/verify\?token=\S+$/m.exec(plainText(raw));
  if (found === null) throw new Error(`there is no link in ${raw}`);
  return new URL(found[0]);
}

/** All of a mail without the encoding of long lines (RFC 2045 section 6.7). */
export function plainText(raw: string): string {
  return raw
    .replaceAll('\r\n', '\n')
    .replaceAll('=\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_match, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function failure(responseCode: number, message: string): Error {
  return Object.assign(new Error(message), { responseCode });
}
