import type { Options } from '#runtime/config/options.ts';

/** Where connections for one purpose may go. */
export interface HostAllowance {
  /** What they are for, for messages: `logins at OpenID providers`. */
  readonly purpose: string;
  /** Hosts that they may go to: names in lower case without a dot at the end, or addresses. Empty: any public host. */
  readonly allowedHosts: readonly string[];
  /** The setting behind `allowedHosts`, for messages; undefined: there is none. */
  readonly hostsSetting: string | undefined;
  /** Whether they may also go to this machine and to private networks, and without encryption. */
  readonly allowPrivateAddresses: boolean;
  /** The setting behind `allowPrivateAddresses`, for messages; undefined: there is none. */
  readonly privateSetting: string | undefined;
  /** Time until a connection is made, with TLS, in milliseconds. */
  readonly connectMs: number;
  /** Time to resolve a name, in milliseconds. */
  readonly resolveMs: number;
}

/** Where connections to mail servers may go. */
export interface MailAllowance extends HostAllowance {
  /** Empty: any port. */
  readonly ports: readonly number[];
  /** The setting behind `ports`, for messages. */
  readonly portsSetting: string;
}

/** What requests for one purpose may do. Every purpose has its own, and everything not named here is refused. */
export interface EgressAllowance extends HostAllowance {
  /** Methods in upper case. */
  readonly methods: readonly string[];
  /** Names in lower case of headers that callers may set; `any`: all but those that belong to the connection. */
  readonly headers: 'any' | readonly string[];
  /** Redirects followed for one request. */
  readonly redirectsMax: number;
  /** Bytes of a response, as sent and as decompressed. */
  readonly responseBytesMax: number;
  /** Time of a request that asks for no other, from the call to the end of the response, in milliseconds. */
  readonly timeoutMs: number;
  /** The longest time that a request may ask for, in milliseconds. */
  readonly timeoutMsMax: number;
  /** Time until the head of a response is complete, and between two parts of its body, in milliseconds. */
  readonly idleMs: number;
  /** Requests at once. */
  readonly concurrentMax: number;
  /** Requests at once of one tenant, so that one with slow servers leaves some to the others. */
  readonly concurrentPerTenantMax: number;
}

const CONNECT_MS = 5_000;
const RESOLVE_MS = 5_000;

/** The longest time that a call of a remote MCP server may be given: ten minutes. */
const MCP_TIMEOUT_MS_MAX = 600_000;

/** For logins at OpenID providers: discovery, keys, tokens and user information. @param options section `[egress]` */
export function oidcAllowance({ oidcAllowPrivate }: Options['egress']): EgressAllowance {
  return {
    purpose: 'logins at OpenID providers',
    allowedHosts: [],
    hostsSetting: undefined,
    allowPrivateAddresses: oidcAllowPrivate,
    privateSetting: '[egress] oidc_allow_private',
    methods: ['GET', 'POST'],
    headers: 'any',
    redirectsMax: 3,
    responseBytesMax: 1024 * 1024,
    timeoutMs: 10_000,
    timeoutMsMax: 10_000,
    idleMs: 10_000,
    connectMs: CONNECT_MS,
    resolveMs: RESOLVE_MS,
    concurrentMax: 64,
    concurrentPerTenantMax: 16,
  };
}

/** For remote MCP servers and their authorization servers. @param options section `[mcp_client]` */
export function mcpClientAllowance(options: Options['mcpClient']): EgressAllowance {
  return {
    purpose: 'remote MCP servers',
    allowedHosts: options.allowedHosts,
    hostsSetting: '[mcp_client] allowed_hosts',
    allowPrivateAddresses: options.allowPrivateAddresses,
    privateSetting: '[mcp_client] allow_private_addresses',
    methods: ['GET', 'POST', 'DELETE'],
    headers: 'any',
    redirectsMax: 5,
    responseBytesMax: options.maxResponseBytes,
    timeoutMs: options.defaultTimeoutMs,
    timeoutMsMax: Math.max(options.defaultTimeoutMs, MCP_TIMEOUT_MS_MAX),
    // A tool may work for its whole time before it answers.
    idleMs: Math.max(options.defaultTimeoutMs, MCP_TIMEOUT_MS_MAX),
    connectMs: CONNECT_MS,
    resolveMs: RESOLVE_MS,
    concurrentMax: 128,
    concurrentPerTenantMax: 32,
  };
}

/** Ports of mail servers: relay, submission with TLS and with STARTTLS, and its usual substitute. */
const mailPorts: readonly number[] = Object.freeze([25, 465, 587, 2525]);

const PORTS_SETTING = '[email] allowed_ports';

/** For the mail servers that tenants name. @param options section `[email]` */
export function mailAllowance({ allowedPorts, allowPrivateServers }: Options['email']): MailAllowance {
  return {
    purpose: 'mail servers',
    allowedHosts: [],
    hostsSetting: undefined,
    allowPrivateAddresses: allowPrivateServers,
    privateSetting: '[email] allow_private_servers',
    ports: allowedPorts.length === 0 ? mailPorts : allowedPorts.map(Number),
    portsSetting: PORTS_SETTING,
    connectMs: CONNECT_MS,
    resolveMs: RESOLVE_MS,
  };
}

/** For the mail server of the operator, which may be anywhere but at addresses that are never allowed. */
export function operatorMailAllowance(): MailAllowance {
  return {
    purpose: 'the mail server of the operator',
    allowedHosts: [],
    hostsSetting: undefined,
    allowPrivateAddresses: true,
    privateSetting: undefined,
    ports: [],
    portsSetting: PORTS_SETTING,
    connectMs: CONNECT_MS,
    resolveMs: RESOLVE_MS,
  };
}
