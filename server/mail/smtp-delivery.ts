import type { Socket } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import SmtpConnection from 'nodemailer/lib/smtp-connection';
import { tooSlow, unreachable } from '#protocols/egress/egress-errors.ts';
import type { GuardedDialer } from '#protocols/egress/guarded-dial.ts';
import type { MailServer } from '#protocols/identity/email-setups.ts';
import { assert } from '#runtime/base/assert.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Mail } from './login-link-mail.ts';

/** Time of one attempt, from the resolution of the name to the last answer, in milliseconds. */
export const ATTEMPT_MS = 30_000;

/** Time for one answer of a server, in milliseconds. */
const ANSWER_MS = 10_000;

/** Time for the end of a connection after the mail was accepted, in milliseconds. */
const QUIT_MS = 1_000;

/** Bytes of one answer of a server: a few lines. */
const ANSWER_BYTES_MAX = 16 * 1024;

/** What delivers to mail servers. */
export interface DeliveryContext {
  /** For the mail servers that tenants name. */
  readonly dialer: GuardedDialer;
  /** For that of the operator. */
  readonly operatorDialer: GuardedDialer;
  readonly clock: Clock;
  /** Certificate authorities as PEM; undefined: those of Node, with `NODE_EXTRA_CA_CERTS`. */
  readonly authorities?: readonly string[] | undefined;
}

/**
 * `sent`: the server has the mail. `refused`: it will not take this mail, now or later. `withdrawn`: the mail is not
 * wanted any more.
 */
export type DeliveryOutcome = 'sent' | 'refused' | 'withdrawn';

/**
 * Sends one mail through a mail server. The mail is made when the server is ready to take it, so that a token in it is
 * made for no server that cannot be reached.
 *
 * @param name what this server calls itself
 * @param compose makes the mail; undefined: it is not wanted any more
 * @param signal ends it with its reason
 * @throws {ServiceError} `EGRESS_REFUSED`, `UPSTREAM_UNREACHABLE`, `UPSTREAM_TIMEOUT`, `UPSTREAM_INVALID`; what `compose`
 *   throws; the reason of the signal. The text of a server is in none of them: it may repeat the receiver.
 */
export async function deliver(
  { authorities, clock, dialer, operatorDialer }: DeliveryContext,
  server: MailServer,
  name: string,
  compose: () => Promise<Mail | undefined>,
  signal: AbortSignal,
): Promise<DeliveryOutcome> {
  const { account, host, isOperators, port, security } = server;
  const target = { host, port, isSecure: security !== 'none' };
  const late = new AbortController();
  const limit = clock.after(ATTEMPT_MS, () => late.abort(tooSlow(host, 'take a mail', ATTEMPT_MS)));
  const ending = AbortSignal.any([signal, late.signal]);
  let session: SmtpSession | undefined;
  try {
    const socket = await (isOperators ? operatorDialer : dialer).dial(target, ending);
    session = new SmtpSession(
      socket,
      new SmtpConnection({
        connection: socket,
        host,
        port,
        name,
        secure: security === 'tls',
        requireTLS: security === 'starttls',
        ignoreTLS: security === 'none',
        connectionTimeout: ANSWER_MS,
        greetingTimeout: ANSWER_MS,
        socketTimeout: ANSWER_MS,
        socketCloseTimeout: QUIT_MS,
        maxResponseSize: ANSWER_BYTES_MAX,
        logger: false,
        tls: {
          // Given, so that no variable of the environment turns the check off.
          rejectUnauthorized: true,
          minVersion: 'TLSv1.2',
          // By the name that was asked for, also when it is an address, for which there is no name in the handshake.
          checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate),
          ...(authorities === undefined ? {} : { ca: [...authorities] }),
        },
      }),
      host,
      clock,
      ending,
    );
    await session.connect();
    assert(security === 'none' || session.isSecure, 'the library has refused a server without TLS');
    if (account !== undefined) await session.logIn(account.username, account.password.reveal());
    const mail = await compose();
    if (mail === undefined) return 'withdrawn';
    const isAccepted = await session.send(mail);
    if (isAccepted) await session.quit();
    return isAccepted ? 'sent' : 'refused';
  } finally {
    limit.cancel();
    session?.close();
  }
}

/** What the library tells of a failure. */
interface SmtpError {
  /** `EAUTH`, `EENVELOPE`, `EMESSAGE`, `ETLS`, `ETIMEDOUT`, `ESOCKET`, `ECONNECTION`, `EPROTOCOL`. */
  readonly code?: string | undefined;
  /** Status of the answer. */
  readonly responseCode?: number | undefined;
  readonly command?: string | undefined;
}

/** One connection to a mail server, with bounds on what the server may do. */
class SmtpSession {
  readonly #socket: Socket;
  readonly #connection: SmtpConnection;
  readonly #host: string;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  /** Fails when the connection does, whatever is under way. */
  readonly #failed: Promise<never>;
  readonly #ended: Promise<void>;
  #fail: (error: unknown) => void = () => undefined;
  #isConnected = false;
  readonly #stop = (): void => this.#fail(this.#signal.reason);

  constructor(socket: Socket, connection: SmtpConnection, host: string, clock: Clock, signal: AbortSignal) {
    this.#socket = socket;
    this.#connection = connection;
    this.#host = host;
    this.#clock = clock;
    this.#signal = signal;
    this.#failed = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    // It may fail when nothing waits for it.
    this.#failed.catch(() => undefined);
    connection.on('error', (error: SmtpError) =>
      this.#fail(this.#isConnected || error.code !== 'ESOCKET' ? failureOf(host, error) : insecure(host)),
    );
    this.#ended = new Promise((resolve) => {
      connection.once('end', () => {
        this.#fail(unreachable(`The server '${host}' closed the connection`));
        resolve();
      });
    });
    signal.addEventListener('abort', this.#stop, { once: true });
    if (signal.aborted) this.#stop();
  }

  get isSecure(): boolean {
    return this.#connection.secure;
  }

  /** Reads the greeting, and secures the connection. */
  async connect(): Promise<void> {
    await this.#step((done) => this.#connection.connect(done));
    this.#isConnected = true;
  }

  async logIn(user: string, pass: string): Promise<void> {
    await this.#step((done) => this.#connection.login({ credentials: { user, pass } }, done));
  }

  /** @returns false when the server refuses this mail for good */
  async send({ envelope, message }: Mail): Promise<boolean> {
    try {
      await this.#step((done) => this.#connection.send({ ...envelope, to: [...envelope.to] }, message, done));
      return true;
    } catch (error) {
      if (error instanceof ServiceError && error.details?.is_final === true) return false;
      throw error;
    }
  }

  /** Says goodbye to a server that has taken the mail. It does not matter whether it answers. */
  async quit(): Promise<void> {
    let timer: Timer | undefined;
    const patience = new Promise<void>((resolve) => {
      timer = this.#clock.after(QUIT_MS, resolve);
    });
    this.#connection.quit();
    await Promise.race([this.#ended, patience]);
    timer?.cancel();
  }

  close(): void {
    this.#signal.removeEventListener('abort', this.#stop);
    this.#connection.close();
    this.#socket.destroy();
  }

  async #step(begin: (done: (error?: SmtpError | null) => void) => void): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      begin((error) => {
        if (error === undefined || error === null) resolve();
        else reject(failureOf(this.#host, error));
      });
    });
    done.catch(() => undefined);
    await Promise.race([done, this.#failed]);
  }
}

/** A connection broke off before it was secure. */
function insecure(host: string): ServiceError {
  return unreachable(
    `No secure connection to '${host}' could be made: its certificate must be valid, name the host, and come from a known authority`,
  );
}

/** The error for a failure that the library reports, without its text. */
function failureOf(host: string, { code = '', command, responseCode }: SmtpError): ServiceError {
  const details = {
    smtp: code,
    ...(command === undefined ? {} : { command }),
    ...(responseCode === undefined ? {} : { status: responseCode }),
  };
  const invalid = (message: string, more: object = {}): ServiceError =>
    new ServiceError('UPSTREAM_INVALID', message, { details: { ...details, ...more } });
  switch (code) {
    case 'EAUTH':
      return invalid(`The server '${host}' does not accept the user name and the password`);
    case 'EMESSAGE':
    case 'EENVELOPE':
      return invalid(`The server '${host}' does not take the mail`, {
        is_final: (responseCode ?? 0) >= 500 && command !== 'MAIL FROM',
      });
    case 'EPROTOCOL':
      return invalid(`The server '${host}' did not answer as a mail server`);
    case 'ETIMEDOUT':
      return new ServiceError('UPSTREAM_TIMEOUT', `The server '${host}' did not answer in time`, { details });
    case 'ETLS':
      return insecure(host);
    default:
      return new ServiceError('UPSTREAM_UNREACHABLE', `The server '${host}' closed the connection`, {
        details,
      });
  }
}
