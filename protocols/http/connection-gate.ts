import { readFileSync } from 'node:fs';
import type { Clock } from '#runtime/base/time/clock.ts';

/** Limits on the connections of a server. */
export interface ConnectionLimits {
  /** Over all addresses; a further connection is closed as soon as it is accepted. */
  readonly connectionsMax: number;
  /** Per address; an IPv6 network of 64 bits counts as one address. Undefined: unlimited. */
  readonly perAddressMax?: number;
}

/** Minimum time between two reads of the system's connection table, in milliseconds. */
const RECOUNT_MS = 100;

/** Addresses cached beyond the number of connections before those without connections are dropped. */
const SPARE_ADDRESSES = 1_024;

/** Reads a table of the system, `tcp` or `tcp6`; undefined if it is not available. */
export type ReadTable = (name: 'tcp' | 'tcp6') => string | undefined;

function readSystemTable(name: 'tcp' | 'tcp6'): string | undefined {
  try {
    return readFileSync(`/proc/self/net/${name}`, 'latin1');
  } catch {
    return undefined;
  }
}

/**
 * Decides whether a new connection is kept. Every connection is an open file, so a flood of them must not use up the
 * files that the process needs.
 *
 * The library reports when a connection is closed, but not its address. So connections are counted by address when
 * they are opened. Only when that count reaches the bound is the number of open ones needed: Linux lists them. Where
 * the list is not available, only the overall bound is enforced.
 */
export class ConnectionGate {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #readTable: ReadTable;
  readonly #ports = new Set<number>();
  #count = 0;
  /** Upper bound of the open connections by address; it includes those that were closed since the last recount. */
  #byAddress = new Map<string, number>();
  #recountedMs = Number.NEGATIVE_INFINITY;
  /** Whether connections are kept; false while the server starts. */
  isOpen = true;

  constructor(limits: ConnectionLimits, clock: Clock, readTable: ReadTable = readSystemTable) {
    this.#limits = limits;
    this.#clock = clock;
    this.#readTable = readTable;
  }

  /** Open connections. */
  get count(): number {
    return this.#count;
  }

  /** Sets the port whose connections are counted. */
  listensOn(port: number): void {
    this.#ports.add(port);
  }

  /**
   * Records an opened connection.
   *
   * @param address of the peer, 4 or 16 bytes
   * @returns whether to keep it; a connection that is not kept must be closed, and `closed` is called for it too
   */
  opened(address: Uint8Array): boolean {
    this.#count += 1;
    if (!this.isOpen || this.#count > this.#limits.connectionsMax) return false;
    const { perAddressMax } = this.#limits;
    if (perAddressMax === undefined) return true;
    const group = groupOf(address);
    let open = (this.#byAddress.get(group) ?? 0) + 1;
    const isCrowded = this.#byAddress.size >= this.#limits.connectionsMax + SPARE_ADDRESSES;
    if ((open > perAddressMax || isCrowded) && this.#recount()) open = this.#byAddress.get(group) ?? 1;
    if (open > perAddressMax) return false;
    this.#byAddress.set(group, open);
    return true;
  }

  /** Records a closed connection. */
  closed(): void {
    this.#count -= 1;
  }

  /** @returns whether the counts are now those of the system, including the newest connection */
  #recount(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#recountedMs < RECOUNT_MS) return false;
    this.#recountedMs = nowMs;
    const counts = new Map<string, number>();
    for (const name of ['tcp', 'tcp6'] as const) {
      const table = this.#readTable(name);
      if (table !== undefined) countPeers(table, this.#ports, counts);
    }
    this.#byAddress = counts;
    return true;
  }
}

/** The key under which an address counts, in hexadecimal: all of an IPv4 address, the network of an IPv6 one. */
function groupOf(address: Uint8Array): string {
  const hex = Buffer.from(address).toString('hex');
  if (hex.length !== 32) return hex;
  return hex.startsWith('00000000000000000000ffff') ? hex.slice(24) : hex.slice(0, 16);
}

/** `sl  local_address rem_address   st …`: state 01 is an established connection. */
const rowPattern = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} (?:01|08) /gm;

function countPeers(table: string, ports: ReadonlySet<number>, counts: Map<string, number>): void {
  for (const [, port, peer] of table.matchAll(rowPattern)) {
    if (!ports.has(Number.parseInt(port as string, 16))) continue;
    const group = groupOf(addressOf(peer as string));
    counts.set(group, (counts.get(group) ?? 0) + 1);
  }
}

/** Decodes an address. The system writes it as machine words, which are little endian on every supported machine. */
function addressOf(words: string): Uint8Array {
  return Buffer.from(words, 'hex').swap32();
}
