import { createCipheriv, createDecipheriv, hkdfSync } from 'node:crypto';
import { assert } from '#runtime/base/assert.ts';
import { type Random, systemRandom } from '#runtime/base/random.ts';

/** Names the form of a sealed text. Another form gets another prefix, and this one stays readable. */
const PREFIX = 'v1.';

/** What every derived key is for, before the purpose of the caller: nothing else is derived with the same text. */
const DERIVED_FOR = 'grove sealed text, 1\n';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const OVERHEAD_BYTES = SALT_BYTES + NONCE_BYTES + TAG_BYTES;

/** Longest purpose, in bytes of UTF-8: HKDF takes 1,024 in Node. */
const PURPOSE_BYTES_MAX = 512;

/** Longest text that is sealed, in bytes of UTF-8. */
export const SEALED_TEXT_BYTES_MAX: number = 64 * 1024;

const SEALED_CHARACTERS_MAX = PREFIX.length + Math.ceil(((SEALED_TEXT_BYTES_MAX + OVERHEAD_BYTES) * 4) / 3);

/** What a box uses besides its key. */
export interface SecretBoxOptions {
  /** The master key before the present one: it opens what was sealed with it, and seals nothing. */
  readonly previous?: Uint8Array | undefined;
  readonly random?: Random;
}

/**
 * Seals texts under the master key, so that nobody without it can read or change them: secrets that are stored, and
 * values that travel through a client. A sealed text has characters that need no escaping in URLs and headers.
 *
 *     v1. base64url( salt 16 | nonce 12 | encrypted text | tag 16 )
 *
 * The cipher is AES-256-GCM. Its key is derived from the master key, the purpose and a random salt (HKDF-SHA-256, RFC
 * 5869). So each text has a key of its own: anyone may cause any number of texts to be sealed, while one key with random
 * nonces is good for 2^32 of them (NIST SP 800-38D, section 8.3).
 */
export class SecretBox {
  readonly #key: Uint8Array;
  readonly #previous: Uint8Array | undefined;
  readonly #random: Random;

  /** @param masterKey 32 bytes */
  constructor(masterKey: Uint8Array, { previous, random = systemRandom }: SecretBoxOptions = {}) {
    assert(masterKey.length === KEY_BYTES, 'the master key has 32 bytes');
    assert(previous === undefined || previous.length === KEY_BYTES, 'the previous master key has 32 bytes');
    // Copies: the caller may clear its own.
    this.#key = masterKey.slice();
    this.#previous = previous?.slice();
    this.#random = random;
  }

  /**
   * Seals a text.
   *
   * @param purpose what it is, and whose: it opens for exactly this purpose; 1 to 512 bytes
   * @param text at most {@link SEALED_TEXT_BYTES_MAX}
   */
  seal(purpose: string, text: string): string {
    const bytes = Buffer.from(text, 'utf8');
    assert(bytes.length <= SEALED_TEXT_BYTES_MAX, 'a text to be sealed is within its bounds');
    // Copied: the source may hand out parts of a block that it goes on using.
    const drawn = Buffer.from(this.#random.bytes(SALT_BYTES + NONCE_BYTES));
    const salt = drawn.subarray(0, SALT_BYTES);
    const cipher = createCipheriv(CIPHER, derivedKey(this.#key, salt, purpose), drawn.subarray(SALT_BYTES), {
      authTagLength: TAG_BYTES,
    });
    cipher.setAAD(associatedData(purpose));
    const encrypted = Buffer.concat([cipher.update(bytes), cipher.final()]);
    return PREFIX + Buffer.concat([drawn, encrypted, cipher.getAuthTag()]).toString('base64url');
  }

  /**
   * Seals a text of the previous master key again, with the present one.
   *
   * @param purpose as it was sealed with
   * @param sealed from anywhere
   * @returns undefined for anything that {@link open} does not open, or opens with the present key
   */
  resealed(purpose: string, sealed: string): string | undefined {
    const bytes = sealedBytes(sealed);
    if (bytes === undefined || this.#previous === undefined) return undefined;
    if (openedWith(this.#key, purpose, bytes) !== undefined) return undefined;
    const text = openedWith(this.#previous, purpose, bytes);
    return text === undefined ? undefined : this.seal(purpose, text);
  }

  /**
   * Opens a sealed text, of the present or of the previous master key.
   *
   * @param purpose as it was sealed with
   * @param sealed from anywhere
   * @returns undefined for anything that was not sealed for this purpose with one of the keys, exactly as it was
   */
  open(purpose: string, sealed: string): string | undefined {
    const bytes = sealedBytes(sealed);
    if (bytes === undefined) return undefined;
    const opened = openedWith(this.#key, purpose, bytes);
    if (opened !== undefined || this.#previous === undefined) return opened;
    return openedWith(this.#previous, purpose, bytes);
  }
}

/** The bytes of a sealed text; undefined for a text of another form. */
function sealedBytes(sealed: string): Buffer | undefined {
  if (sealed.length > SEALED_CHARACTERS_MAX || !sealed.startsWith(PREFIX)) return undefined;
  const text = sealed.slice(PREFIX.length);
  const bytes = Buffer.from(text, 'base64url');
  // The decoder skips what it does not know, and unused bits at the end. Only one spelling is right.
  return bytes.length >= OVERHEAD_BYTES && bytes.toString('base64url') === text ? bytes : undefined;
}

function openedWith(masterKey: Uint8Array, purpose: string, bytes: Buffer): string | undefined {
  const salt = bytes.subarray(0, SALT_BYTES);
  const nonce = bytes.subarray(SALT_BYTES, SALT_BYTES + NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, derivedKey(masterKey, salt, purpose), nonce, {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(associatedData(purpose));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const encrypted = bytes.subarray(SALT_BYTES + NONCE_BYTES, -TAG_BYTES);
  const text = decipher.update(encrypted);
  try {
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    // The tag does not fit: it is of another key or purpose, or was changed.
    return undefined;
  }
}

function derivedKey(masterKey: Uint8Array, salt: Uint8Array, purpose: string): Uint8Array {
  const info = Buffer.from(purpose, 'utf8');
  assert(info.length > 0 && info.length <= PURPOSE_BYTES_MAX, 'a purpose is within its bounds');
  const derived = hkdfSync('sha256', masterKey, salt, Buffer.from(DERIVED_FOR + purpose, 'utf8'), KEY_BYTES);
  return new Uint8Array(derived);
}

function associatedData(purpose: string): Buffer {
  return Buffer.from(PREFIX + purpose, 'utf8');
}
