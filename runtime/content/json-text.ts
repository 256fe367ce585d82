import { parseExactJson } from '#runtime/base/exact-json.ts';

/**
 * JSON that is already text. Point reads assemble their answer from stored bytes, so it is never parsed on the
 * way out; `JSON.stringify` of a value that holds one is not supported, protocols write `text` as it is.
 */
export class JsonText {
  readonly text: string;
  /** Entity tag of the text, without quotes, where it has one. */
  readonly tag: string | undefined;

  constructor(text: string, tag?: string) {
    this.text = text;
    this.tag = tag;
  }

  /** The value, for callers that need to look into it. */
  parse(): unknown {
    return parseExactJson(this.text);
  }
}
