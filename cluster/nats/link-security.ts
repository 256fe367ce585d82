import { isIP } from 'node:net';
import type { NatsConnection } from '@nats-io/transport-node';

/** Security properties of a connection to NATS. */
export interface LinkSecurity {
  /** Host of the server, as `host:port`. */
  readonly server: string;
  /** Whether the server requires authentication and this client authenticated. */
  readonly isAuthenticated: boolean;
  /** Whether the connection is encrypted. */
  readonly isEncrypted: boolean;
}

/**
 * Returns how a connection is secured at present.
 *
 * @param urls the addresses of the connection
 */
export function linkSecurityOf(connection: NatsConnection, urls: readonly string[]): LinkSecurity {
  const { info } = connection;
  return {
    server: connection.getServer(),
    isAuthenticated: info?.auth_required === true,
    // The client encrypts where a server offers TLS, and requires TLS where the address has the tls scheme.
    isEncrypted:
      info?.tls_required === true || info?.tls_available === true || urls[0]?.startsWith('tls:') === true,
  };
}

/** A security problem of a connection, and the remedy. */
export interface LinkRisk {
  readonly code: 'nats-unauthenticated' | 'nats-plaintext';
  readonly message: string;
}

/**
 * Returns the security problems of a connection to NATS. A connection within this machine is not checked: a process
 * with access to it can read the member's data folder as well.
 */
export function linkRisks({ isAuthenticated, isEncrypted, server }: LinkSecurity): readonly LinkRisk[] {
  if (isLoopback(server)) return [];
  const risks: LinkRisk[] = [];
  if (!isAuthenticated)
    risks.push({
      code: 'nats-unauthenticated',
      message: `NATS server ${server} requires no password: anyone who reaches it can read all content and stop every write; configure users`,
    });
  if (!isEncrypted)
    risks.push({
      code: 'nats-plaintext',
      message: `the connection to NATS server ${server} is not encrypted: write the addresses in SVC_NATS_URL as tls://`,
    });
  return risks;
}

function isLoopback(server: string): boolean {
  const host = server.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
