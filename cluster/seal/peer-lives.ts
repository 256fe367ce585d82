/** Maximum number of remembered members; a cluster has fewer. */
const PEERS_MAX = 256;

/** Silence after which the clock of a member is unknown, in milliseconds. */
const SILENT_MS_MAX = 30_000;

/** Length of the id of one process of a member, in bytes. */
export const LIFE_BYTES = 8;

/** The last heartbeat of a member. */
interface Heard {
  readonly life: Buffer;
  /** Its clock, and the time by this member's clock when the heartbeat arrived. */
  readonly tickMs: number;
  readonly heardMs: number;
}

/** Receiver of a sealed message, and the current time by its clock. */
export interface PeerMoment {
  readonly life: Buffer;
  /** Milliseconds of the monotonic clock of that member. */
  readonly tickMs: number;
}

/**
 * Tracks the current process id and monotonic clock of each other member, from its heartbeats. A sealed message names
 * both for its receiver, so that it is invalid for another process of that member, or later. No two wall clocks are
 * compared.
 */
export class PeerLives {
  readonly #peers = new Map<string, Heard>();

  /** @param name the key under which the member is looked up */
  hear(name: string, life: Uint8Array, tickMs: number, nowMs: number): void {
    const known = this.#peers.get(name);
    this.#peers.delete(name);
    if (this.#peers.size >= PEERS_MAX) this.#forgetOldest();
    const kept = known?.life.equals(life) === true ? known.life : Buffer.from(life);
    this.#peers.set(name, { life: kept, tickMs, heardMs: nowMs });
  }

  /** Messages of this member are no longer sealed. */
  forget(name: string): void {
    this.#peers.delete(name);
  }

  /** @returns undefined for a member without a recent heartbeat */
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
