import { inspect } from 'node:util';

const shown = '[secret]';

/**
 * A text that must not appear in a log, an error or a dump: every conversion of the object to text gives `[secret]`.
 * Code that needs the value calls {@link Secret.reveal}, which is easy to search for.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
    Object.freeze(this);
  }

  /** The text itself. */
  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}
