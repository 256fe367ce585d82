import { parseExactJson } from '#runtime/base/exact-json.ts';

/**
 * JSON that is already text. Point reads assemble their answer from stored bytes, so it is never parsed on the
 * way out; `JSON.stringify` of a value that holds one is not supported, protocols write `text` as it is.
 */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The value, for callers that need to look into it. */
  parse(): unknown {
    return parseExactJson(this.text);
  }
}
