import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';

/** Purposes of the keys of the cluster. Each key has one purpose, so a seal for one purpose is invalid for another. */
export const keyPurposes = [
  /** Calls to another member. */
  'calls',
  /** Replies to calls. */
  'answers',
  /** Control messages of a caller about a running call. */
  'controls',
  /** Broadcasts to all members. */
  'news',
  /** Replies to broadcasts. */
  'replies',
  /** Messages that members store in streams. */
  'stored',
] as const;

/** One of {@link keyPurposes}. */
export type KeyPurpose = (typeof keyPurposes)[number];

/** Length of a seal, in bytes: half of an HMAC-SHA256, which cannot be guessed. */
export const SEAL_BYTES = 16;

const KEY_BYTES = 32;

/**
 * The keys with which members of one cluster seal their messages to each other, derived from the shared master key
 * (HKDF, RFC 5869). Credentials of NATS, or a server in the NATS cluster, give access to none of them.
 *
 * @see docs/decisions/0033-signed-messages.md
 */
export class ClusterKeys {
  readonly #keys: ReadonlyMap<KeyPurpose, KeyObject>;

  /** @param cluster `[cluster] name`: distinguishes clusters that share an account and a master key */
  constructor(masterKey: Uint8Array, cluster: string) {
    this.#keys = new Map(
      keyPurposes.map((purpose) => {
        const bytes = hkdfSync(
          'sha256',
          masterKey,
          `grove cluster ${cluster}`,
          `seal ${purpose} 1`,
          KEY_BYTES,
        );
        return [purpose, createSecretKey(Buffer.from(bytes))];
      }),
    );
  }

  /**
   * Seals bytes in a context.
   *
   * @param context identifies the place of the bytes; must be unambiguous by itself, and is not sent
   */
  seal(purpose: KeyPurpose, context: string, ...parts: readonly Uint8Array[]): Buffer {
    const hmac = createHmac('sha256', this.#keys.get(purpose) as KeyObject).update(context);
    for (const part of parts) hmac.update(part);
    return hmac.digest().subarray(0, SEAL_BYTES);
  }

  /** Returns whether a seal is valid for these bytes in this context. */
  holds(purpose: KeyPurpose, seal: Uint8Array, context: string, ...parts: readonly Uint8Array[]): boolean {
    return isSameSeal(seal, this.seal(purpose, context, ...parts));
  }
}

/** Compares two seals in constant time. */
export function isSameSeal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
