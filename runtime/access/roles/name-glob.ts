import { AnyOne, GlobMatcher, Loop } from './glob-matcher.ts';

/** The characters that names of workspaces and branches have, and wildcards. */
const understood = /^[A-Za-z0-9._:/*?-]*$/;

/**
 * A pattern for names of workspaces and branches: `*` is any characters, `?` is one, and both may be `/`. An empty
 * pattern matches every name. A pattern with any other character than these wildcards and those of names matches none.
 *
 * @see docs/interface/permissions.md#workspaces-and-branches
 */
export class NameGlob {
  /** Whether it can match a name. */
  readonly isUnderstood: boolean;
  /** Whether it has no wildcard. */
  readonly isName: boolean;
  /** Whether it matches every name. */
  readonly isEverything: boolean;
  readonly #text: string;
  readonly #matcher: GlobMatcher | undefined;

  constructor(text: string) {
    this.#text = text;
    this.isUnderstood = understood.test(text);
    this.isEverything = /^\**$/.test(text);
    this.isName = this.isUnderstood && text !== '' && !/[*?]/.test(text);
    const hasMatcher = this.isUnderstood && !this.isName && !this.isEverything;
    this.#matcher = hasMatcher ? matcherOf(text) : undefined;
  }

  /** Whether every name that it matches begins with a text. */
  isWithin(beginning: string): boolean {
    return this.#text.startsWith(beginning);
  }

  /** Whether it matches a name. */
  matches(name: string): boolean {
    if (this.isEverything) return true;
    if (this.isName) return name === this.#text;
    return this.#matcher?.matches(name, 0) === true;
  }
}

function matcherOf(text: string): GlobMatcher {
  const elements: number[] = [];
  const loops: (typeof Loop)[keyof typeof Loop][] = [Loop.none];
  for (const character of text) {
    if (character === '*') {
      loops[elements.length] = Loop.crossing;
      continue;
    }
    elements.push(character === '?' ? AnyOne.crossing : character.charCodeAt(0));
    loops.push(Loop.none);
  }
  return new GlobMatcher({ elements, loops, resumes: new Set(), ends: new Set([elements.length]) });
}
