import { readFileSync } from 'node:fs';
import type { Clock } from '#runtime/base/clock.ts';

/** How many connections a server keeps. */
export interface ConnectionLimits {
  /** All of them; a further one is closed as soon as it is there. */
  readonly connectionsMax: number;
  /** Those of one address, an IPv6 network of 64 bits counting as one; undefined: no bound. */
  readonly perAddressMax?: number;
}

/** Least time between two looks at what the system knows of connections, in milliseconds. */
const RECOUNT_MS = 100;

/** Addresses that are remembered beyond the number of connections before those without any are forgotten. */
const SPARE_ADDRESSES = 1_024;

/** Reads a table of the system, `tcp` or `tcp6`; undefined where there is none. */
export type ReadTable = (name: 'tcp' | 'tcp6') => string | undefined;

function readSystemTable(name: 'tcp' | 'tcp6'): string | undefined {
  try {
    return readFileSync(`/proc/self/net/${name}`, 'latin1');
  } catch {
    return undefined;
  }
}

/**
 * Decides whether a new connection is kept, so that no flood of them takes what the process needs otherwise: every
 * connection is an open file.
 *
 * The library tells when a connection is closed, but not whose it was. So connections of an address are counted when
 * they come, and only when that count reaches the bound does the number that are still there have to be known: Linux
 * lists them. Where it cannot be asked, the bound of an address does not hold, the overall one always does.
 */
export class ConnectionGate {
  readonly #limits: ConnectionLimits;
  readonly #clock: Clock;
  readonly #readTable: ReadTable;
  readonly #ports = new Set<number>();
  #count = 0;
  /** By address: at least the connections that are open; those that were closed since the last look are in it. */
  #byAddress = new Map<string, number>();
  #recountedMs = Number.NEGATIVE_INFINITY;
  /** Whether any connection is kept; while the server starts none is. */
  isOpen = true;

  constructor(limits: ConnectionLimits, clock: Clock, readTable: ReadTable = readSystemTable) {
    this.#limits = limits;
    this.#clock = clock;
    this.#readTable = readTable;
  }

  /** Connections that are open. */
  get count(): number {
    return this.#count;
  }

  /** Connections to this port are asked about. */
  listensOn(port: number): void {
    this.#ports.add(port);
  }

  /**
   * A connection has come.
   *
   * @param address of the peer, 4 or 16 bytes
   * @returns whether it is kept; one that is not has to be closed, which is told as of any other
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

  /** A connection is gone. */
  closed(): void {
    this.#count -= 1;
  }

  /** @returns whether the counts are those of the system now, the newest connection included */
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

/** What counts as one address: all of an IPv4 one, the network of an IPv6 one, in hexadecimal. */
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

/** The system writes addresses as words of the machine, which are little endian on every one we run on. */
function addressOf(words: string): Uint8Array {
  return Buffer.from(words, 'hex').swap32();
}
