/** Members that are remembered; a cluster has fewer. */
const PEERS_MAX = 256;

/** Silence after which it is not known any more what the clock of a member says, in milliseconds. */
const SILENT_MS_MAX = 30_000;

/** Length of what names one life of a member, in bytes. */
export const LIFE_BYTES = 8;

/** A life of a member as it was heard last. */
interface Heard {
  readonly life: Buffer;
  /** What its clock said, and when that was heard by this one. */
  readonly tickMs: number;
  readonly heardMs: number;
}

/** Whom something is sealed for, and when by the clock of that one. */
export interface PeerMoment {
  readonly life: Buffer;
  /** Milliseconds of the monotonic clock of that member. */
  readonly tickMs: number;
}

/**
 * Which life each other member has at present and what its monotonic clock says, from its heartbeats: what is sealed
 * for a member names both, so that it is of no use to another life of it, or later. No two wall clocks are compared.
 */
export class PeerLives {
  readonly #peers = new Map<string, Heard>();

  /** @param name whatever a member is looked up by */
  hear(name: string, life: Uint8Array, tickMs: number, nowMs: number): void {
    const known = this.#peers.get(name);
    this.#peers.delete(name);
    if (this.#peers.size >= PEERS_MAX) this.#forgetOldest();
    const kept = known?.life.equals(life) === true ? known.life : Buffer.from(life);
    this.#peers.set(name, { life: kept, tickMs, heardMs: nowMs });
  }

  /** What is said in its name is not sealed any more. */
  forget(name: string): void {
    this.#peers.delete(name);
  }

  /** @returns undefined for a member that was not heard of, or not for long */
  at(name: string, nowMs: number): PeerMoment | undefined {
    const heard = this.#peers.get(name);
    if (heard === undefined || nowMs - heard.heardMs > SILENT_MS_MAX) return undefined;
    return { life: heard.life, tickMs: heard.tickMs + (nowMs - heard.heardMs) };
  }

  #forgetOldest(): void {
    for (const oldest of this.#peers.keys()) {
      this.#peers.delete(oldest);
      return;
    }
  }
}
