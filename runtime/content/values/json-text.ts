import { parseExactJson } from '#runtime/base/text/exact-json.ts';

/**
 * JSON that is already text. Point reads build their answer from stored bytes, so it is never parsed before it is sent.
 * `JSON.stringify` of a value that contains one is not supported; protocols write `text` unchanged.
 */
export class JsonText {
  readonly text: string;
  /** Entity tag of the text, without quotes, if it has one. */
  readonly tag: string | undefined;

  constructor(text: string, tag?: string) {
    this.text = text;
    this.tag = tag;
  }

  /** The parsed value. */
  parse(): unknown {
    return parseExactJson(this.text);
  }
}
