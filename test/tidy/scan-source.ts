/** A source text with everything but code, or everything but comments, turned into blanks of the same length. */
export interface ScannedSource {
  /** Comments, texts and regular expressions are blank; positions and line feeds are those of the source. */
  readonly code: string;
  /** Comments are blank; texts stand. */
  readonly withTexts: string;
  /** Only the comments stand. */
  readonly comments: string;
}

/** After one of these words a `/` starts a regular expression, after any other name it divides. */
const wordsBeforeRegex = new Set(
  'return typeof instanceof in of new delete void throw case do else yield await'.split(' '),
);

/**
 * Tells code, texts and comments of TypeScript apart, without a parser: the rules here look for names and
 * imports, which need no more than that. Template texts are blank, the code inside their `${}` is not.
 */
export function scanSource(source: string): ScannedSource {
  return new Scanner(source).scan();
}

type Kind = 'code' | 'text' | 'comment';

class Scanner {
  readonly #source: string;
  readonly #kinds: Kind[];
  #at = 0;
  /** Braces open in the code of each template text we are inside of. */
  readonly #templateBraces: number[] = [];
  /** End of the last code token that is not a blank. */
  #lastCode = -1;

  constructor(source: string) {
    this.#source = source;
    this.#kinds = new Array<Kind>(source.length).fill('code');
  }

  scan(): ScannedSource {
    if (this.#source.startsWith('#!')) this.#take(this.#endOfLine(), 'comment');
    while (this.#at < this.#source.length) this.#step();
    return {
      code: this.#keep((kind) => kind === 'code'),
      withTexts: this.#keep((kind) => kind !== 'comment'),
      comments: this.#keep((kind) => kind === 'comment'),
    };
  }

  #step(): void {
    const source = this.#source;
    const here = source[this.#at] as string;
    const next = source[this.#at + 1];
    if (here === '/' && next === '/') this.#take(this.#endOfLine(), 'comment');
    else if (here === '/' && next === '*') this.#take(this.#endAfter('*/'), 'comment');
    else if (here === "'" || here === '"') this.#take(this.#endOfQuoted(here), 'text');
    else if (here === '`') this.#template();
    else if (here === '/' && this.#regexMayStart()) this.#take(this.#endOfRegex(), 'text');
    else if (here === '}' && this.#templateBraces.at(-1) === 0) {
      this.#templateBraces.pop();
      this.#template();
    } else this.#codeCharacter(here);
  }

  #codeCharacter(here: string): void {
    this.#countBrace(here);
    if (here.trim() !== '') this.#lastCode = this.#at;
    this.#at += 1;
  }

  #countBrace(here: string): void {
    const depth = this.#templateBraces.at(-1);
    if (depth === undefined) return;
    if (here === '{') this.#templateBraces[this.#templateBraces.length - 1] = depth + 1;
    if (here === '}') this.#templateBraces[this.#templateBraces.length - 1] = depth - 1;
  }

  /** Takes the text of a template from its quote, or from the end of a `${}`, to its end or the next `${`. */
  #template(): void {
    let end = this.#at + 1;
    while (end < this.#source.length) {
      if (this.#source[end] === '\\') {
        end += 2;
      } else if (this.#source[end] === '`') {
        this.#take(end + 1, 'text');
        return;
      } else if (this.#source.startsWith('${', end)) {
        this.#take(end + 2, 'text');
        this.#templateBraces.push(0);
        this.#lastCode = -1;
        return;
      } else {
        end += 1;
      }
    }
    this.#take(end, 'text');
  }

  #regexMayStart(): boolean {
    if (this.#lastCode < 0) return true;
    const before = this.#source[this.#lastCode] as string;
    if (/[\w$]/.test(before)) {
      const word = /[\w$]+$/.exec(this.#source.slice(Math.max(0, this.#lastCode - 20), this.#lastCode + 1));
      return wordsBeforeRegex.has(word?.[0] ?? '');
    }
    return !')]}\'"`'.includes(before);
  }

  #endOfRegex(): number {
    let isInClass = false;
    for (let end = this.#at + 1; end < this.#source.length; end += 1) {
      const here = this.#source[end];
      if (here === '\n') return this.#at + 1;
      if (here === '\\') end += 1;
      else if (here === '[') isInClass = true;
      else if (here === ']') isInClass = false;
      else if (here === '/' && !isInClass) return end + 1;
    }
    return this.#at + 1;
  }

  #endOfQuoted(quote: string): number {
    for (let end = this.#at + 1; end < this.#source.length; end += 1) {
      if (this.#source[end] === '\\') end += 1;
      else if (this.#source[end] === quote || this.#source[end] === '\n') return end + 1;
    }
    return this.#source.length;
  }

  #endOfLine(): number {
    const end = this.#source.indexOf('\n', this.#at);
    return end < 0 ? this.#source.length : end;
  }

  #endAfter(mark: string): number {
    const end = this.#source.indexOf(mark, this.#at + 2);
    return end < 0 ? this.#source.length : end + mark.length;
  }

  #take(end: number, kind: Kind): void {
    this.#kinds.fill(kind, this.#at, end);
    if (kind === 'text') this.#lastCode = Math.min(end, this.#source.length) - 1;
    this.#at = end;
  }

  #keep(wanted: (kind: Kind) => boolean): string {
    let kept = '';
    for (let index = 0; index < this.#source.length; index += 1) {
      const here = this.#source[index] as string;
      kept += wanted(this.#kinds[index] as Kind) || here === '\n' ? here : ' ';
    }
    return kept;
  }
}
