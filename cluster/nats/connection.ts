import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  createInbox,
  credsAuthenticator,
  errors,
  type NatsConnection as ClientConnection,
  type Subscription,
  type TlsOptions,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';
import { OptionError } from '#runtime/config/option.ts';
import { NotThereYetError } from './not-there-yet.ts';

/** A connection to the NATS servers: the type of the client library. */
export type NatsConnection = ClientConnection;

/** A subscription of a {@link NatsConnection}. */
export type NatsSubscription = Subscription;

/** Time between two pings of a connection, in milliseconds. Two unanswered pings close the connection. */
const PING_MS = 1000;

/** Number of pings that may be unanswered. */
const PINGS_OUT_MAX = 2;

/** Maximum time of one connection attempt, in milliseconds. */
const CONNECT_MS_MAX = 5000;

/** Time between two attempts to reconnect, and the maximum random delay that is added, in milliseconds. */
const RECONNECT_MS = 250;
const RECONNECT_JITTER_MS = 100;

/** Settings of a connection. */
export interface ConnectionSettings {
  /** Servers, `nats://host:4222` or `tls://host:4222`, preferably all of them; any of them may be used first. */
  readonly urls: readonly string[];
  /** Name of this client in the servers' lists. */
  readonly name: string;
  /**
   * Contents of a credentials file. Without it, user and password are taken from the addresses, if they contain any.
   */
  readonly credentials?: string;
  /** PEM certificates of the authorities that sign the server certificates. Default: those of the system. */
  readonly authorities?: string;
  /** Prefix of the subjects on which this client receives replies. Default: the prefix that all clients share. */
  readonly inbox?: string;
}

/** Inbox prefixes of the connections that have their own. */
const inboxes = new WeakMap<NatsConnection, string>();

/** Returns a unique subject on which this client may receive replies. */
export function newInbox(connection: NatsConnection): string {
  return createInbox(inboxes.get(connection));
}

/**
 * Connects to NATS. After the first connection the client reconnects without a time limit, to any server of the
 * cluster. Callers must expect the connection to be lost at any time.
 *
 * An address of the form `tls://host:4222` requires TLS. A server that offers no TLS, or whose certificate is from
 * another authority or for other names than the configured ones, receives neither credentials nor anything else. This
 * also applies to later reconnections.
 *
 * @throws {OptionError} with address and remedy: an invalid address, refused credentials, a server without TLS
 *   or with a certificate that does not verify
 * @throws {NotThereYetError} when no server answers
 */
export async function connectToNats(settings: ConnectionSettings): Promise<NatsConnection> {
  const { hosts, isTls, login, servers } = readUrls(settings.urls, settings.authorities !== undefined);
  const options: ConnectionOptions = {
    servers,
    name: settings.name,
    ...(settings.inbox === undefined ? {} : { inboxPrefix: settings.inbox }),
    ...authentication(settings.credentials, login),
    ...(isTls ? { tls: tlsFor(hosts, settings.authorities) } : {}),
    timeout: CONNECT_MS_MAX,
    pingInterval: PING_MS,
    maxPingOut: PINGS_OUT_MAX,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    reconnectJitter: RECONNECT_JITTER_MS,
    // A running member must survive a change of credentials on the servers.
    ignoreAuthErrorAbort: true,
  };
  try {
    // Each refusing server announces the others, and the client would try them all in turn forever without an error.
    await (await connect({ ...options, ignoreClusterUpdates: true })).close();
    const connection = await connect(options);
    if (settings.inbox !== undefined) inboxes.set(connection, settings.inbox);
    return connection;
  } catch (error) {
    const where = servers.join(', ');
    if (error instanceof errors.AuthorizationError)
      throw new OptionError([
        `NATS at ${where} refuses the credentials: check SVC_NATS_CREDS (${error.message})`,
      ]);
    const untrusted = untrustedReason(error, isTls);
    if (untrusted !== undefined) throw new OptionError([`NATS at ${where} ${untrusted}`]);
    const message = `no NATS server answers at ${where}: check SVC_NATS_URL (${messageOf(error)})`;
    throw new NotThereYetError(message, { cause: error });
  }
}

interface Login {
  readonly user: string;
  readonly password: string;
}

interface Addresses {
  /** In the form that the client accepts. */
  readonly servers: string[];
  /** Names and IP addresses of the servers. */
  readonly hosts: readonly string[];
  readonly login: Login | undefined;
  readonly isTls: boolean;
}

/** Parses the parts of an address that the client ignores: scheme, user and password. */
function readUrls(urls: readonly string[], hasAuthorities: boolean): Addresses {
  let login: Login | undefined;
  const problems: string[] = [];
  const hosts: string[] = [];
  const schemes = new Set<string>();
  const servers = urls.map((text, index) => {
    const url = URL.parse(text) ?? undefined;
    // The message omits the address itself, because it may contain a password.
    if (url === undefined || !/^(nats|tls):$/.test(url.protocol) || url.hostname === '') {
      problems.push(`address ${index + 1} of SVC_NATS_URL is not of the form nats://host:4222`);
      return '';
    }
    if (url.username !== '')
      login ??= { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
    schemes.add(url.protocol);
    hosts.push(hostOf(url));
    return `${url.protocol}//${url.host}`;
  });
  if (urls.length === 0) problems.push('SVC_NATS_URL names no server');
  // The client may connect to any of them, and to servers that they announce: one without TLS would expose all traffic.
  if (schemes.size > 1) problems.push('SVC_NATS_URL mixes nats:// and tls://: write all addresses as tls://');
  else if (hasAuthorities && schemes.has('nats:'))
    problems.push('SVC_NATS_CA is set, but only tls:// addresses use TLS: write all addresses as tls://');
  if (problems.length > 0) throw new OptionError(problems);
  return { servers, hosts, login, isTls: schemes.has('tls:') };
}

/** Returns the host of an address; an IPv6 address is returned without its brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/**
 * Returns the TLS options. The client checks the certificate of a server that is addressed by IP against `localhost`.
 * Here a certificate must be for one of the configured hosts, whichever of them the client uses.
 */
function tlsFor(hosts: readonly string[], authorities: string | undefined): TlsOptions {
  const identify = (host: string, certificate: PeerCertificate): Error | undefined => {
    const isNamed = hosts.some((each) => checkServerIdentity(each, certificate) === undefined);
    return isNamed
      ? undefined
      : checkServerIdentity(hosts.includes(host) ? host : (hosts[0] as string), certificate);
  };
  const options = {
    checkServerIdentity: identify,
    ...(authorities === undefined ? {} : { ca: authorities }),
  };
  return options as TlsOptions;
}

/** Node's codes for a certificate that does not verify. The list has prefixes: similar codes begin like these. */
const certificateFault = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|INVALID_CA|ALTNAME/;

/** Returns why a server is not trusted, with the remedy; undefined when the error has another cause. */
function untrustedReason(error: unknown, isTls: boolean): string | undefined {
  if (isTls && error instanceof Error && error.message.includes("does not support 'tls'"))
    return 'offers no TLS, but its address begins with tls://: configure a tls block, or check which process listens there';
  const code = (error as { readonly code?: unknown } | null)?.code;
  if (typeof code === 'string' && certificateFault.test(code))
    return `has a certificate that does not verify: check SVC_NATS_CA and the names in the certificate (${messageOf(error)})`;
  return undefined;
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
