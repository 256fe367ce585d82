import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';

/** What a key of the cluster is for. One key has one use, so nothing sealed for one thing passes for another. */
export const keyPurposes = [
  /** Calls to another member. */
  'calls',
  /** Answers to calls. */
  'answers',
  /** What a caller says of a call that runs. */
  'controls',
  /** What members tell all others. */
  'news',
  /** What they answer to it. */
  'replies',
  /** What they store in streams. */
  'stored',
] as const;

/** One of {@link keyPurposes}. */
export type KeyPurpose = (typeof keyPurposes)[number];

/** Length of a seal, in bytes: half of an HMAC-SHA256, which nobody guesses or finds by trying. */
export const SEAL_BYTES = 16;

const KEY_BYTES = 32;

/**
 * The keys members of one cluster seal with what they tell each other, derived from the master key all of them have
 * (HKDF, RFC 5869): whoever has credentials of NATS, or a server among those of NATS, has none of them.
 *
 * @see docs/decisions/0033-members-sign-what-they-tell-each-other.md
 */
export class ClusterKeys {
  readonly #keys: ReadonlyMap<KeyPurpose, KeyObject>;

  /** @param cluster `[cluster] name`: clusters that share an account and a master key are two all the same */
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
   * The seal of some bytes, in a context.
   *
   * @param context what the bytes belong to: has to be unambiguous by itself, and is not sent
   */
  seal(purpose: KeyPurpose, context: string, ...parts: readonly Uint8Array[]): Buffer {
    const hmac = createHmac('sha256', this.#keys.get(purpose) as KeyObject).update(context);
    for (const part of parts) hmac.update(part);
    return hmac.digest().subarray(0, SEAL_BYTES);
  }

  /** Whether a seal is that of these bytes in this context. */
  holds(purpose: KeyPurpose, seal: Uint8Array, context: string, ...parts: readonly Uint8Array[]): boolean {
    return isSameSeal(seal, this.seal(purpose, context, ...parts));
  }
}

/** Compares two seals; takes as long whatever differs. */
export function isSameSeal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
