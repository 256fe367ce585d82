import { connect, type Socket } from 'node:net';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { MailAllowance } from './allowance.ts';
import { CheckedHosts, type HostSurroundings } from './checked-hosts.ts';
import { checkedName } from './checked-url.ts';
import { failure, privateRemedy, refused, tooSlow } from './egress-errors.ts';
import { ATTEMPT_MS, pinnedLookup } from './pinned-lookup.ts';
import { RequestLife } from './request-life.ts';

/** Where a connection goes. */
export interface DialledServer {
  /** A name or an IP address, an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  /** Whether everything that matters is sent with TLS. */
  readonly isSecure: boolean;
}

/**
 * Makes plain TCP connections to servers that users of Grove name, with the checks of the `EgressGuard`: the host and all
 * of its addresses are allowed, and the connection is made to an address of this very check. What is sent over it is up
 * to the caller, with all bounds of time and size.
 */
export class GuardedDialer {
  readonly #allowance: MailAllowance;
  readonly #clock: Clock;
  readonly #hosts: CheckedHosts;

  constructor(allowance: MailAllowance, surroundings: HostSurroundings) {
    this.#allowance = allowance;
    this.#clock = surroundings.clock;
    this.#hosts = new CheckedHosts(allowance, surroundings);
  }

  /**
   * Connects to a server.
   *
   * @param signal ends it with its reason
   * @returns a connected socket that nobody reads yet; its errors are not thrown
   * @throws {ServiceError} `EGRESS_REFUSED`, `UPSTREAM_UNREACHABLE`, `UPSTREAM_TIMEOUT`; the reason of the signal
   */
  async dial({ host: named, isSecure, port }: DialledServer, signal: AbortSignal): Promise<Socket> {
    const target = checkedName(named, this.#allowance);
    this.#checkPort(port);
    if (!isSecure && !this.#allowance.allowPrivateAddresses)
      throw refused(
        'scheme',
        `Connections to '${target.host}' need TLS, so that nobody in between can read or change what is sent. ${privateRemedy(this.#allowance)}`,
      );
    const life = new RequestLife(this.#clock, signal, () => undefined);
    try {
      const addresses = await this.#hosts.check(target, life);
      const ms = this.#allowance.connectMs;
      life.limit(ms, () => tooSlow(target.host, 'accept a connection', ms));
      return await connected(target.host, port, addresses, life.signal);
    } finally {
      life.close();
    }
  }

  #checkPort(port: number): void {
    const { ports, portsSetting } = this.#allowance;
    if (ports.length === 0 || ports.includes(port)) return;
    throw refused(
      'port',
      `Connections do not go to port ${port}; use ${ports.join(', ')}. The operator can change them with ${portsSetting}.`,
    );
  }
}

function connected(
  host: string,
  port: number,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<Socket> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      lookup: pinnedLookup(host, addresses),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: ATTEMPT_MS,
      noDelay: true,
    });
    const stop = (): void => {
      socket.destroy();
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
    // Stays: nobody may listen yet when the server closes the connection.
    socket.on('error', (error) => reject(failure(host, 'connect', error)));
    socket.once('connect', () => {
      signal.removeEventListener('abort', stop);
      resolve(socket);
    });
  });
}
