import { Agent as HttpAgent, type AgentOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';

/** Time for which an unused connection is kept, in milliseconds: less than the usual time of servers, so that it is still open. */
const UNUSED_MS = 4_000;

/** Unused connections that are kept to one server. */
const UNUSED_MAX = 4;

/** Unused connections that are kept in all. */
const UNUSED_TOTAL_MAX = 64;

const agentOptions: AgentOptions = {
  keepAlive: true,
  maxFreeSockets: UNUSED_MAX,
  scheduling: 'lifo',
  timeout: UNUSED_MS,
};

/** What the connections of a request are kept under; other requests with the same text may use them. */
export interface Pinned {
  readonly pin: string;
}

function mayKeep(freeSockets: Readonly<Record<string, readonly unknown[] | undefined>>): boolean {
  const unused = Object.values(freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
  return unused < UNUSED_TOTAL_MAX;
}

/** Keeps connections by their pin instead of their host. */
class PinnedHttpAgent extends HttpAgent {
  override getName(options?: object): string {
    return (options as Pinned).pin;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return mayKeep(this.freeSockets) && Boolean(super.keepSocketAlive(socket));
  }
}

/** As {@link PinnedHttpAgent}, with TLS. Sessions are not resumed, so every connection verifies the certificate. */
class PinnedHttpsAgent extends HttpsAgent {
  override getName(options?: object): string {
    return (options as Pinned).pin;
  }

  override keepSocketAlive(socket: Duplex): boolean {
    return mayKeep(this.freeSockets) && Boolean(super.keepSocketAlive(socket));
  }
}

/** The connections of one purpose. */
export class PinnedAgents {
  readonly #http = new PinnedHttpAgent(agentOptions);
  readonly #https = new PinnedHttpsAgent({ ...agentOptions, maxCachedSessions: 0 });

  for(isSecure: boolean): HttpAgent | HttpsAgent {
    return isSecure ? this.#https : this.#http;
  }

  /** Whether the next request with a pin uses a connection that was kept. */
  hasUnused(isSecure: boolean, pin: string): boolean {
    return this.for(isSecure).freeSockets[pin]?.some((socket) => !socket.destroyed) === true;
  }

  /** Closes the connections that were kept under a pin. */
  closeUnused(isSecure: boolean, pin: string): void {
    for (const socket of this.for(isSecure).freeSockets[pin] ?? []) socket.destroy();
  }

  /** Closes all connections. */
  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }
}
