import { Buffer } from 'node:buffer';

/** A text that columns of many records are compared with. */
export class WantedText {
  readonly text: string;
  /** Its bytes; undefined for a text with half a surrogate pair, which no bytes stand for. */
  readonly bytes: Buffer | undefined;

  constructor(text: string) {
    this.text = text;
    this.bytes = text.isWellFormed() ? Buffer.from(text) : undefined;
  }
}
