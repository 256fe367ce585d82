import { isIP } from 'node:net';
import type { NatsConnection } from '@nats-io/transport-node';

/** How a connection to NATS is secured. */
export interface LinkSecurity {
  /** Host of the server, as `host:port`. */
  readonly server: string;
  /** Whether the server asks who connects, and was told. */
  readonly isAuthenticated: boolean;
  /** Whether what is sent is encrypted. */
  readonly isEncrypted: boolean;
}

/**
 * How a connection is secured at present.
 *
 * @param urls the addresses it was made with
 */
export function linkSecurityOf(connection: NatsConnection, urls: readonly string[]): LinkSecurity {
  const { info } = connection;
  return {
    server: connection.getServer(),
    isAuthenticated: info?.auth_required === true,
    // The client encrypts wherever a server offers it, and demands it where the address says so.
    isEncrypted:
      info?.tls_required === true || info?.tls_available === true || urls[0]?.startsWith('tls:') === true,
  };
}

/** What is wrong with a connection, and the remedy. */
export interface LinkRisk {
  readonly code: 'nats-unauthenticated' | 'nats-plaintext';
  readonly message: string;
}

/**
 * What an operator should know of a connection to NATS. What stays on this machine is not judged: whoever gets at it
 * there has the member's data folder as well.
 */
export function linkRisks({ isAuthenticated, isEncrypted, server }: LinkSecurity): readonly LinkRisk[] {
  if (isLoopback(server)) return [];
  const risks: LinkRisk[] = [];
  if (!isAuthenticated)
    risks.push({
      code: 'nats-unauthenticated',
      message: `NATS server ${server} asks nobody for a password: whoever reaches it reads all content and can stop every write; give it users`,
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
