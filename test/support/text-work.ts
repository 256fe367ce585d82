/** A long text that was handed to something whose work grows with it, in one go. */
export interface TextWork {
  /** `String.replace`, `RegExp.test /^\d+$/`. */
  readonly operation: string;
  readonly length: number;
  /** The place in the product, `runtime/content/path.ts:32`. */
  readonly place: string;
}

/** What is noted while it runs. */
export interface TextWorkCount {
  /** Gives back what was noted since the last time. */
  take(): readonly TextWork[];
  /** Puts everything back as it was. */
  end(): void;
}

/** Methods of texts that go over the whole of it, and make a new one of it or ask a table for each character. */
const methods = [
  'replace',
  'replaceAll',
  'split',
  'match',
  'matchAll',
  'search',
  'normalize',
  'toLowerCase',
  'toUpperCase',
] as const;

/**
 * A pattern that begins at the beginning and repeats nothing without bound reads a few characters of any text. One that
 * repeats a single class from end to end compares each character once, as every look at a text does.
 */
function readsFew({ source, flags }: RegExp): boolean {
  if (/^\^\[[^\]]*\][*+]\$$/.test(source)) return true;
  const begins = source.startsWith('^') && !flags.includes('m') && !source.includes('|^');
  return begins && !/[*+]|\{\d+,\}/.test(source.replace(/\\.|\[(?:\\.|[^\]])*\]/g, 'x'));
}

/** The innermost frame of the product. */
function place(): string | undefined {
  for (const line of new Error('where').stack?.split('\n') ?? []) {
    const found = /\/((?:runtime|actors|protocols|cluster)\/[\w./-]+\.ts:\d+)/.exec(line);
    if (found !== null && !line.includes('/test/')) return found[1];
  }
  return undefined;
}

/**
 * Notes each time the product hands a long text whole to a method or pattern that goes over all of it. Work is
 * counted in characters, so it is the same on every machine.
 *
 * @param lengthMax the longest text that is not noted
 */
export function countTextWork(lengthMax: number): TextWorkCount {
  const noted: TextWork[] = [];
  let isNoting = true;
  const note = (operation: string, text: unknown): void => {
    if (!isNoting || typeof text !== 'string' || text.length <= lengthMax) return;
    isNoting = false;
    const where = place();
    if (where !== undefined) noted.push({ operation, length: text.length, place: where });
    isNoting = true;
  };
  const ends: (() => void)[] = [];
  const wrap = (holder: object, name: string, before: (self: unknown, first: unknown) => void): void => {
    const descriptor = Object.getOwnPropertyDescriptor(holder, name) as PropertyDescriptor;
    const original = descriptor.value as (...given: unknown[]) => unknown;
    const value = function (this: unknown, ...given: unknown[]): unknown {
      before(this, given[0]);
      // A pattern asks itself once for each match: what is done within is part of this.
      const wasNoting = isNoting;
      isNoting = false;
      try {
        return original.apply(this, given);
      } finally {
        isNoting = wasNoting;
      }
    };
    Object.defineProperty(holder, name, { ...descriptor, value });
    ends.push(() => Object.defineProperty(holder, name, descriptor));
  };
  for (const name of methods) wrap(String.prototype, name, (text) => note(`String.${name}`, text));
  for (const name of ['test', 'exec']) {
    wrap(RegExp.prototype, name, (pattern, text) => {
      if (typeof text !== 'string' || text.length <= lengthMax || readsFew(pattern as RegExp)) return;
      note(`RegExp.${name} ${String(pattern)}`, text);
    });
  }
  return {
    take: () => noted.splice(0),
    end: () => {
      for (const end of ends) end();
    },
  };
}
