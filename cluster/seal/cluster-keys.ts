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

/** The keys derived from one master key. */
type DerivedKeys = ReadonlyMap<KeyPurpose, KeyObject>;

/**
 * The keys with which members of one cluster seal their messages to each other, derived from the shared master key
 * (HKDF, RFC 5869). Credentials of NATS, or a server in the NATS cluster, give access to none of them.
 *
 * @see docs/decisions/0033-signed-messages.md
 */
export class ClusterKeys {
  readonly #keys: DerivedKeys;
  readonly #previous: DerivedKeys | undefined;

  /**
   * @param cluster `[cluster] name`: distinguishes clusters that share an account and a master key
   * @param previous the master key before it: its seals are valid as well, and nothing is sealed with it
   */
  constructor(masterKey: Uint8Array, cluster: string, previous?: Uint8Array) {
    this.#keys = derivedKeys(masterKey, cluster);
    this.#previous = previous === undefined ? undefined : derivedKeys(previous, cluster);
  }

  /**
   * Seals bytes in a context.
   *
   * @param context identifies the place of the bytes; must be unambiguous by itself, and is not sent
   */
  seal(purpose: KeyPurpose, context: string, ...parts: readonly Uint8Array[]): Buffer {
    return sealed(this.#keys, purpose, context, parts);
  }

  /** Returns whether a seal of the present or of the previous key is valid for these bytes in this context. */
  holds(purpose: KeyPurpose, seal: Uint8Array, context: string, ...parts: readonly Uint8Array[]): boolean {
    if (isSameSeal(seal, sealed(this.#keys, purpose, context, parts))) return true;
    return this.#previous !== undefined && isSameSeal(seal, sealed(this.#previous, purpose, context, parts));
  }
}

function derivedKeys(masterKey: Uint8Array, cluster: string): DerivedKeys {
  return new Map(
    keyPurposes.map((purpose) => {
      const bytes = hkdfSync('sha256', masterKey, `grove cluster ${cluster}`, `seal ${purpose} 1`, KEY_BYTES);
      return [purpose, createSecretKey(Buffer.from(bytes))];
    }),
  );
}

function sealed(
  keys: DerivedKeys,
  purpose: KeyPurpose,
  context: string,
  parts: readonly Uint8Array[],
): Buffer {
  const hmac = createHmac('sha256', keys.get(purpose) as KeyObject).update(context);
  for (const part of parts) hmac.update(part);
  return hmac.digest().subarray(0, SEAL_BYTES);
}

/** Compares two seals in constant time. */
function isSameSeal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
