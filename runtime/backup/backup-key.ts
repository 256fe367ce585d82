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

/**
 * Signs manifests with a key derived from the master key (HKDF, RFC 5869). Without the master key anyone can compute
 * every checksum of a backup, but no signature.
 */
export class BackupKey {
  readonly #key: Uint8Array;
  /** Name of the key, see {@link BackupSignature.key}. */
  readonly name: string;

  /** @param masterKey bytes of the master key */
  constructor(masterKey: Uint8Array) {
    this.#key = new Uint8Array(hkdfSync('sha256', masterKey, new Uint8Array(0), PURPOSE, KEY_BYTES));
    this.name = this.#hmacOf('name').slice(0, NAME_DIGITS);
  }

  sign(text: string): BackupSignature {
    return { key: this.name, hmac: this.#hmacOf(`signed\n${text}`) };
  }

  /** Whether this key signed a text. */
  verifies(text: string, { hmac, key }: BackupSignature): boolean {
    const expected = Buffer.from(this.#hmacOf(`signed\n${text}`));
    const given = Buffer.from(hmac);
    return key === this.name && given.length === expected.length && timingSafeEqual(given, expected);
  }

  #hmacOf(text: string): string {
    return createHmac('sha256', this.#key).update(text).digest('hex');
  }
}
