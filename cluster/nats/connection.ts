import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import {
  type Authenticator,
  type ConnectionOptions,
  connect,
  createInbox,
  credsAuthenticator,
  errors,
  type NatsConnection,
  type TlsOptions,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node';
import { OptionError } from '#runtime/config/option.ts';
import { NotThereYetError } from './not-there-yet.ts';

/** Time between two pings of a connection, in milliseconds. Two without an answer mean that it is dead. */
const PING_MS = 1000;

/** Pings that may be unanswered. */
const PINGS_OUT_MAX = 2;

/** Time one attempt to connect may take, in milliseconds. */
const CONNECT_MS_MAX = 5000;

/** Time between two attempts to connect again, in milliseconds, and what is added at random. */
const RECONNECT_MS = 250;
const RECONNECT_JITTER_MS = 100;

/** How to connect. */
export interface ConnectionSettings {
  /** Servers, `nats://host:4222` or `tls://host:4222`, best all of them; any may be the first. */
  readonly urls: readonly string[];
  /** How this client is called in the servers' lists. */
  readonly name: string;
  /** Contents of a credentials file; else user and password are taken from the addresses, if they have any. */
  readonly credentials?: string;
  /** Certificates of the authorities that may have signed those of the servers, PEM; default: those of the system. */
  readonly authorities?: string;
  /** What the subjects begin with where this client is answered; default: what all clients have. */
  readonly inbox?: string;
}

/** Of the connections that have one of their own. */
const inboxes = new WeakMap<NatsConnection, string>();

/** A subject nobody else uses, where this client may listen for answers. */
export function newInbox(connection: NatsConnection): string {
  return createInbox(inboxes.get(connection));
}

/**
 * Connects to NATS. Once it has connected it reconnects for ever, to any server of the cluster; who uses it takes
 * into account that it may be cut off at any time.
 *
 * An address of the form `tls://host:4222` is a demand: a server that offers no TLS, or has a certificate of another
 * authority or for other names than the configured ones, gets neither credentials nor anything else, also when the
 * connection is made again later.
 *
 * @throws {OptionError} naming address and remedy: an address that is none, refused credentials, a server without TLS
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
    // Credentials that are being changed on the servers must not end a running member.
    ignoreAuthErrorAbort: true,
  };
  try {
    // Each server that refuses tells of the others, and the client would try them in turn for ever and say nothing.
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
  /** As the client takes them. */
  readonly servers: string[];
  /** Names and IP addresses of the servers. */
  readonly hosts: readonly string[];
  readonly login: Login | undefined;
  readonly isTls: boolean;
}

/** Takes apart what the client does not: it ignores scheme, user and password of an address. */
function readUrls(urls: readonly string[], hasAuthorities: boolean): Addresses {
  let login: Login | undefined;
  const problems: string[] = [];
  const hosts: string[] = [];
  const schemes = new Set<string>();
  const servers = urls.map((text, index) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    // Not the address itself: it may hold a password.
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
  // The client goes on to any of them, and to those they tell it of: one without TLS would undo it for all.
  if (schemes.size > 1) problems.push('SVC_NATS_URL mixes nats:// and tls://: write all addresses as tls://');
  else if (hasAuthorities && schemes.has('nats:'))
    problems.push('SVC_NATS_CA is set, and TLS is demanded with tls:// only: write all addresses as tls://');
  if (problems.length > 0) throw new OptionError(problems);
  return { servers, hosts, login, isTls: schemes.has('tls:') };
}

/** The host of an address, an IPv6 address without its brackets. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/**
 * The client checks the certificate of a server that is named by an IP address against `localhost`. Here a certificate
 * has to be for one of the configured hosts, whichever of them the client is talking to.
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

/** Codes of Node for a certificate that does not verify; the others of their kind begin like these. */
const certificateFault = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|INVALID_CA|ALTNAME/;

/** Why a server is not to be trusted, with the remedy; undefined when something else is wrong. */
function untrustedReason(error: unknown, isTls: boolean): string | undefined {
  if (isTls && error instanceof Error && error.message.includes("does not support 'tls'"))
    return 'offers no TLS, and is addressed as tls://: give it a tls block, or look who listens there';
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
