import { BlockList } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Clock } from '#runtime/base/time/clock.ts';
import { addressKind } from './address-kind.ts';
import type { HostAllowance } from './allowance.ts';
import { type CheckedName, type CheckedUrl, isLoopbackName } from './checked-url.ts';
import { noAllowedAddress, tooSlow } from './egress-errors.ts';
import type { RequestLife } from './request-life.ts';
import { resolveName } from './resolve-name.ts';

/** A host whose addresses were checked. */
export interface CheckedHost {
  /** Addresses that connections may be made to, IPv4 first; at least one. */
  readonly addresses: readonly string[];
}

/** What the checks use of their process. */
export interface HostSurroundings {
  readonly clock: Clock;
  /** Name servers as `address:port`; left out: those of the system. */
  readonly dnsServers?: readonly string[] | undefined;
  /** Addresses of this machine; left out: those of its network interfaces. */
  readonly ownAddresses?: (() => readonly string[]) | undefined;
}

/** Time for which connections to the addresses of a check are used without another one, in milliseconds. */
export const CHECK_MS = 60_000;

/** Hosts whose checks are kept. */
const HOSTS_MAX = 1_024;

/** Addresses of each family that are tried. */
const TRIED_MAX = 4;

interface KeptCheck extends CheckedHost {
  readonly atMs: number;
}

/**
 * Resolves the hosts of one purpose and checks all of their addresses. A host with a single address that is not allowed
 * is refused, whatever its other addresses are.
 */
export class CheckedHosts {
  readonly #allowance: HostAllowance;
  readonly #clock: Clock;
  readonly #servers: readonly string[] | undefined;
  readonly #ownAddresses: () => readonly string[];
  /** By host, oldest check first. */
  readonly #kept = new Map<string, KeptCheck>();

  constructor(allowance: HostAllowance, { clock, dnsServers, ownAddresses }: HostSurroundings) {
    this.#allowance = allowance;
    this.#clock = clock;
    this.#servers = dnsServers;
    this.#ownAddresses = ownAddresses ?? interfaceAddresses;
  }

  /** The last check of a host, if it is less than {@link CHECK_MS} old. */
  recent({ host }: CheckedUrl): CheckedHost | undefined {
    const kept = this.#kept.get(host);
    return kept !== undefined && this.#clock.monotonicMs() - kept.atMs < CHECK_MS ? kept : undefined;
  }

  /** Checks a host and keeps the result for {@link recent}. @throws {ServiceError} as {@link check} */
  async renew(target: CheckedUrl, life: RequestLife): Promise<CheckedHost> {
    const atMs = this.#clock.monotonicMs();
    const made = { addresses: await this.check(target, life), atMs };
    // Deleted first, so that it is the newest in the order of the map.
    this.#kept.delete(target.host);
    this.#kept.set(target.host, made);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= HOSTS_MAX) break;
      this.#kept.delete(oldest);
    }
    return made;
  }

  /**
   * Resolves a host now and checks its addresses.
   *
   * @returns addresses to connect to
   * @throws {ServiceError} `EGRESS_REFUSED`, `UPSTREAM_UNREACHABLE`, `UPSTREAM_TIMEOUT`
   */
  async check({ host, isAddress }: CheckedName, life: RequestLife): Promise<readonly string[]> {
    const addresses = isAddress ? [host] : await this.#resolved(host, life);
    const own = new BlockList();
    for (const address of this.#ownAddresses()) own.addAddress(address, familyOf(address));
    const isAllowed = (address: string): boolean => {
      const kind = addressKind(address);
      if (this.#allowance.allowPrivateAddresses) return kind !== 'forbidden';
      // A connection to a public address of this machine passes no firewall in front of it.
      return kind === 'public' && !own.check(address, familyOf(address));
    };
    if (addresses.length === 0 || !addresses.every(isAllowed))
      throw noAllowedAddress(host, this.#allowance, addresses);
    const ofFamily = (family: string): readonly string[] =>
      addresses.filter((address) => familyOf(address) === family).slice(0, TRIED_MAX);
    return [...ofFamily('ipv4'), ...ofFamily('ipv6')];
  }

  async #resolved(host: string, life: RequestLife): Promise<readonly string[]> {
    if (isLoopbackName(host)) return ['127.0.0.1', '::1'];
    const ms = this.#allowance.resolveMs;
    const limit = life.limit(ms, () => tooSlow(host, 'get its name resolved', ms));
    try {
      return await resolveName(host, this.#servers, life.signal);
    } finally {
      limit.cancel();
    }
  }
}

function interfaceAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((entries) => entries ?? [])
    .map(({ address }) => address);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}
