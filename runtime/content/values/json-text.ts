import { Buffer } from 'node:buffer';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';

/**
 * JSON that is already written. Reads build their answer from stored bytes, so it is never parsed before it is sent.
 * `JSON.stringify` of a value that contains one is not supported; protocols write `body` unchanged.
 */
export class JsonText {
  /** The text, or its UTF-8. */
  readonly body: string | Uint8Array;
  /** Entity tag of the text, without quotes, if it has one. */
  readonly tag: string | undefined;
  #text: string | undefined;

  /** @param body bytes are kept, not copied */
  constructor(body: string | Uint8Array, tag?: string) {
    this.body = body;
    this.tag = tag;
  }

  /** The text, which is decoded once where it is bytes. */
  get text(): string {
    const { body } = this;
    this.#text ??=
      typeof body === 'string'
        ? body
        : Buffer.from(body.buffer, body.byteOffset, body.byteLength).utf8Slice();
    return this.#text;
  }

  /** The parsed value. */
  parse(): unknown {
    return parseExactJson(this.text);
  }
}
