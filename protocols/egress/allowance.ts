import type { Options } from '#runtime/config/options.ts';

/** What requests for one purpose may do. Every purpose has its own, and everything not named here is refused. */
export interface EgressAllowance {
  /** What the requests are for, for messages: `logins at OpenID providers`. */
  readonly purpose: string;
  /** Hosts that requests may go to: names in lower case without a dot at the end, or addresses. Empty: any public host. */
  readonly allowedHosts: readonly string[];
  /** The setting behind `allowedHosts`, for messages; undefined: there is none. */
  readonly hostsSetting: string | undefined;
  /** Whether requests may also go to this machine and to private networks, and by plain HTTP. */
  readonly allowPrivateAddresses: boolean;
  /** The setting behind `allowPrivateAddresses`, for messages; undefined: there is none. */
  readonly privateSetting: string | undefined;
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
  /** Time until a connection is made, with TLS, in milliseconds. */
  readonly connectMs: number;
  /** Time to resolve a name, in milliseconds. */
  readonly resolveMs: number;
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
