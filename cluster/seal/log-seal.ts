import type { ClusterKeys } from './cluster-keys.ts';

/** Header that contains the seal of a message in a stream. */
export const STORED_SEAL_HEADER = 'Grove-Seal';

/**
 * Seals the messages that members store in streams. A seal is for one stream and one sequence, so a message is
 * invalid at another place of the log, or in another log. The seal is a header: members of an older version read the
 * message without it.
 *
 * @see docs/decisions/0033-signed-messages.md
 */
export class LogSeal {
  readonly #keys: ClusterKeys;
  readonly #acceptsUnsigned: boolean;

  /** @param acceptsUnsigned whether unsigned messages are accepted as well, during an upgrade */
  constructor(keys: ClusterKeys, acceptsUnsigned: boolean) {
    this.#keys = keys;
    this.#acceptsUnsigned = acceptsUnsigned;
  }

  /** @param sequence of the message in the stream */
  seal(stream: string, sequence: number, bytes: Uint8Array): string {
    return this.#keys.seal('stored', contextOf(stream, sequence), bytes).toString('base64url');
  }

  /**
   * Returns whether a member stored the message there. @param seal result of {@link seal}; undefined when it has none
   */
  isGenuine(stream: string, sequence: number, bytes: Uint8Array, seal: string | undefined): boolean {
    if (seal === undefined || seal === '') return this.#acceptsUnsigned;
    return this.#keys.holds('stored', Buffer.from(seal, 'base64url'), contextOf(stream, sequence), bytes);
  }
}

function contextOf(stream: string, sequence: number): string {
  return `${stream}\n${sequence}\n`;
}

/** Returns the seal in headers as the JetStream API returns them: base64 of their text. */
export function sealInHeaders(headers: string | undefined): string | undefined {
  if (headers === undefined) return undefined;
  const text = Buffer.from(headers, 'base64').toString('latin1');
  return new RegExp(`^${STORED_SEAL_HEADER}: *(\\S+)\\r?$`, 'm').exec(text)?.[1];
}
