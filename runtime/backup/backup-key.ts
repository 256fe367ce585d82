import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** Purpose of the derived key: no other key is derived with the same text. */
const PURPOSE = 'grove backup signature, 1';

/** Length of the signing key: that of the hash it is used with (RFC 2104). */
const KEY_BYTES = 32;

/** Length of a key name in hex digits. */
const NAME_DIGITS = 16;

/** A signature and the name of the key that made it. */
export interface BackupSignature {
  /** Derived from the key; identifies it without disclosing it. */
  readonly key: string;
  /** HMAC-SHA-256 of the signed text, in hex. */
  readonly hmac: string;
}

/** A key derived from one master key, with its name. */
interface SigningKey {
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * Signs manifests with a key derived from the master key (HKDF, RFC 5869). Without the master key anyone can compute
 * every checksum of a backup, but no signature.
 */
export class BackupKey {
  readonly #current: SigningKey;
  /** Keys whose signatures are accepted. */
  readonly #accepted: readonly SigningKey[];

  /**
   * @param masterKey bytes of the master key
   * @param previous bytes of the master key before it: its signatures are accepted, and none is made with it
   */
  constructor(masterKey: Uint8Array, previous?: Uint8Array) {
    this.#current = signingKeyOf(masterKey);
    this.#accepted = previous === undefined ? [this.#current] : [this.#current, signingKeyOf(previous)];
  }

  /** Name of the key that signs, see {@link BackupSignature.key}. */
  get name(): string {
    return this.#current.name;
  }

  sign(text: string): BackupSignature {
    return { key: this.name, hmac: hmacOf(this.#current.bytes, `signed\n${text}`) };
  }

  /** Whether a signature names one of the accepted keys; that key need not have made it. */
  knows({ key }: BackupSignature): boolean {
    return this.#accepted.some(({ name }) => name === key);
  }

  /** Whether the key that a signature names is accepted, and signed a text. */
  verifies(text: string, { hmac, key }: BackupSignature): boolean {
    const named = this.#accepted.find(({ name }) => name === key);
    if (named === undefined) return false;
    const expected = Buffer.from(hmacOf(named.bytes, `signed\n${text}`));
    const given = Buffer.from(hmac);
    return given.length === expected.length && timingSafeEqual(given, expected);
  }
}

function signingKeyOf(masterKey: Uint8Array): SigningKey {
  const bytes = new Uint8Array(hkdfSync('sha256', masterKey, new Uint8Array(0), PURPOSE, KEY_BYTES));
  return { name: hmacOf(bytes, 'name').slice(0, NAME_DIGITS), bytes };
}

function hmacOf(key: Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex');
}
