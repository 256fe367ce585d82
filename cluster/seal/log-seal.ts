import { type ClusterKeys, isSameSeal } from './cluster-keys.ts';

/** The header that holds the seal of what is stored in a stream. */
export const STORED_SEAL_HEADER = 'Grove-Seal';

/**
 * Seals what members store in streams: for one stream and one sequence of it, so that a message is of no use elsewhere
 * in a log, or in another one. The seal is a header: members of an older version read the message without it.
 *
 * @see docs/decisions/0033-members-sign-what-they-tell-each-other.md
 */
export class LogSeal {
  readonly #keys: ClusterKeys;
  readonly #acceptsUnsigned: boolean;

  /** @param acceptsUnsigned whether what has no seal is genuine as well: while an upgrade lasts */
  constructor(keys: ClusterKeys, acceptsUnsigned: boolean) {
    this.#keys = keys;
    this.#acceptsUnsigned = acceptsUnsigned;
  }

  /** @param sequence that the message is to have in the stream */
  seal(stream: string, sequence: number, bytes: Uint8Array): string {
    return this.#sealOf(stream, sequence, bytes).toString('base64url');
  }

  /** Whether a member stored the message there. @param seal what {@link seal} made; undefined when it has none */
  isGenuine(stream: string, sequence: number, bytes: Uint8Array, seal: string | undefined): boolean {
    if (seal === undefined || seal === '') return this.#acceptsUnsigned;
    return isSameSeal(Buffer.from(seal, 'base64url'), this.#sealOf(stream, sequence, bytes));
  }

  #sealOf(stream: string, sequence: number, bytes: Uint8Array): Buffer {
    return this.#keys.seal('stored', `${stream}\n${sequence}\n`, bytes);
  }
}

/** The seal among headers as the JetStream API tells them: base64 of their text. */
export function sealInHeaders(headers: string | undefined): string | undefined {
  if (headers === undefined) return undefined;
  const text = Buffer.from(headers, 'base64').toString('latin1');
  return new RegExp(`^${STORED_SEAL_HEADER}: *(\\S+)\\r?$`, 'm').exec(text)?.[1];
}
