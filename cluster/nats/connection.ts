import {
  type Authenticator,
  connect,
  credsAuthenticator,
  errors,
  type NatsConnection,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import { OptionError } from '#runtime/config/option.ts';

/** Time between two pings of a connection, in milliseconds. Two without an answer mean that it is dead. */
const PING_MS = 1000;

/** Pings that may be unanswered. */
const PINGS_OUT_MAX = 2;

/** Time one attempt to connect may take, in milliseconds. */
const CONNECT_MS_MAX = 5000;

/** Time between two attempts, in milliseconds, and what is added at random. */
const RECONNECT_MS = 250;
const RECONNECT_JITTER_MS = 100;

/** Time the servers have to appear when a member starts, in milliseconds: they may be starting as well. */
const APPEAR_MS_MAX = 30_000;

/** How to connect. */
export interface ConnectionSettings {
  /** Servers, `nats://host:4222` or `tls://host:4222`, best all of them; any may be the first. */
  readonly urls: readonly string[];
  /** How this client is called in the servers' lists. */
  readonly name: string;
  /** Contents of a credentials file; else user and password are taken from the addresses, if they have any. */
  readonly credentials?: string;
  /** Time the servers have to appear, in milliseconds; default {@link APPEAR_MS_MAX}. */
  readonly appearMs?: number;
  readonly clock: Clock;
}

/**
 * Connects to NATS. Once it has connected it reconnects for ever, to any server of the cluster; who uses it takes
 * into account that it may be cut off at any time.
 *
 * @throws {OptionError} naming address and remedy: an address that is none, refused credentials, or no server that
 *   answers in time
 */
export async function connectToNats(settings: ConnectionSettings): Promise<NatsConnection> {
  const { clock, name } = settings;
  const { servers, login } = readUrls(settings.urls);
  const untilMs = clock.monotonicMs() + (settings.appearMs ?? APPEAR_MS_MAX);
  for (;;) {
    try {
      return await connect({
        servers,
        name,
        ...authentication(settings.credentials, login),
        timeout: CONNECT_MS_MAX,
        pingInterval: PING_MS,
        maxPingOut: PINGS_OUT_MAX,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RECONNECT_MS,
        reconnectJitter: RECONNECT_JITTER_MS,
        // Credentials that are being changed on the servers must not end a running member.
        ignoreAuthErrorAbort: true,
      });
    } catch (error) {
      const where = servers.join(', ');
      if (error instanceof errors.AuthorizationError)
        throw new OptionError([
          `NATS at ${where} refuses the credentials: check SVC_NATS_CREDS (${error.message})`,
        ]);
      if (clock.monotonicMs() >= untilMs)
        throw new OptionError([
          `no NATS server answers at ${where}: check SVC_NATS_URL (${messageOf(error)})`,
        ]);
      await sleep(clock, RECONNECT_MS);
    }
  }
}

interface Login {
  readonly user: string;
  readonly password: string;
}

/** Takes apart what the client does not: it ignores user and password in an address. */
function readUrls(urls: readonly string[]): {
  readonly servers: string[];
  readonly login: Login | undefined;
} {
  let login: Login | undefined;
  const problems: string[] = [];
  const servers = urls.map((text, index) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    // Not the address itself: it may hold a password.
    if (url === undefined || !/^(nats|tls):$/.test(url.protocol) || url.hostname === '') {
      problems.push(`address ${index + 1} of SVC_NATS_URL is not of the form nats://host:4222`);
      return '';
    }
    if (url.username !== '')
      login ??= { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
    return `${url.protocol}//${url.host}`;
  });
  if (urls.length === 0) problems.push('SVC_NATS_URL names no server');
  if (problems.length > 0) throw new OptionError(problems);
  return { servers, login };
}

function authentication(
  credentials: string | undefined,
  login: Login | undefined,
): { authenticator?: Authenticator } {
  if (credentials !== undefined)
    return { authenticator: credsAuthenticator(Buffer.from(credentials, 'utf8')) };
  if (login === undefined) return {};
  return { authenticator: usernamePasswordAuthenticator(login.user, login.password) };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
