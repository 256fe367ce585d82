import { AnyOne, type GlobChain, GlobMatcher, Loop } from './glob-matcher.ts';

const SLASH = 0x2f;

/** Work of following 32 states for one character of a path, in units. */
const WORD_WORK = 2;

/** Points of a segment of a pattern. Each segment has {@link SEGMENT_POINTS} besides. */
const LITERAL_POINTS = 100;
const WILDCARD_POINTS = 10;
const CROSSING_POINTS = 5;
const BARE_POINTS = 1;
const SEGMENT_POINTS = 5;

/**
 * A pattern for paths of nodes:
 *
 * | Part | Matches |
 * |---|---|
 * | `*` | any characters but `/`, also none |
 * | `?` | one character but `/` |
 * | `**` | any characters, also none |
 * | `**` as a segment | any segments, also none; at the end also the node before it |
 *
 * A `/` at the start of the pattern or the path is ignored. An empty pattern matches everything. Letter case matters.
 *
 * @see docs/interface/permissions.md#paths
 */
export class PathGlob {
  /** As it was written. */
  readonly text: string;
  /** Every path that it matches is this path, or below it. */
  readonly top: string;
  /** Whether it matches {@link top} and everything below, and nothing else. */
  readonly isSubtree: boolean;
  /** Among the patterns that match a path, that with the highest number decides. */
  readonly specificity: number;
  /** How every path begins that it matches, with the `/` in front. */
  readonly #prefix: string;
  /** For what follows the prefix; undefined where nothing may follow, or everything. */
  readonly #matcher: GlobMatcher | undefined;

  /** @param text can match a path, see {@link canMatchPath} */
  constructor(text: string) {
    this.text = text;
    const segments = segmentsOf(text);
    const wildcardAt = segments.findIndex(hasWildcard);
    const literal = wildcardAt === -1 ? segments : segments.slice(0, wildcardAt);
    this.top = `/${literal.join('/')}`;
    this.specificity = segments.reduce((sum, segment) => sum + pointsOf(segment), 0);
    const rest = segments.slice(literal.length);
    this.isSubtree = segments.length === 0 || (rest.length === 1 && rest[0] === '**');
    const isPlain = this.isSubtree || rest.length === 0;
    this.#prefix = isPlain || literal.length === 0 ? this.top : `${this.top}/`;
    this.#matcher = isPlain ? undefined : new GlobMatcher(chainOf(rest));
  }

  /** Words of states that are followed for each character of a path: 0 without wildcards. */
  get wordsOfWildcards(): number {
    return this.#matcher?.words ?? 0;
  }

  /** Whether it matches every path. */
  get isEverything(): boolean {
    return this.isSubtree && this.top === '/';
  }

  /**
   * @param path of a node, with a `/` in front
   * @param work from which it takes what it has done, in units of about a character
   */
  matches(path: string, work?: { left: number }): boolean {
    const prefix = this.#prefix;
    if (this.isSubtree) {
      if (prefix === '/' || path === prefix) return true;
      return path.startsWith(prefix) && path.charCodeAt(prefix.length) === SLASH;
    }
    if (this.#matcher === undefined) return path === prefix;
    if (!path.startsWith(prefix)) return false;
    const isMatch = this.#matcher.matches(path, prefix.length);
    if (work !== undefined) work.left -= this.#matcher.work * WORD_WORK;
    return isMatch;
  }
}

/**
 * Whether a pattern can match a path. Names of nodes are of ASCII, so one with other characters cannot, and neither can one
 * with a segment without characters. A `/` at its start does not count.
 */
export function canMatchPath(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text) && !segmentsOf(text).includes('');
}

/** The segments of a pattern. Several `**` one after the other mean the same as one. */
function segmentsOf(text: string): string[] {
  const path = text.replace(/^\/+/, '');
  if (path === '') return [];
  const segments = path.split('/').map((segment) => (/^\*{2,}$/.test(segment) ? '**' : segment));
  return segments.filter((segment, index) => segment !== '**' || segments[index - 1] !== '**');
}

function hasWildcard(segment: string): boolean {
  return segment.includes('*') || segment.includes('?');
}

function pointsOf(segment: string): number {
  if (segment === '**') return SEGMENT_POINTS + BARE_POINTS;
  if (segment.includes('**')) return SEGMENT_POINTS + CROSSING_POINTS;
  return SEGMENT_POINTS + (hasWildcard(segment) ? WILDCARD_POINTS : LITERAL_POINTS);
}

/** @param segments more than one, or one that is not `**` */
function chainOf(segments: readonly string[]): GlobChain {
  const elements: number[] = [];
  const loops: (typeof Loop)[keyof typeof Loop][] = [Loop.none];
  const resumes = new Set<number>();
  const ends = new Set<number>();
  const add = (element: number): void => {
    elements.push(element);
    loops.push(Loop.none);
  };
  for (const [index, segment] of segments.entries()) {
    const isLast = index === segments.length - 1;
    if (segment !== '**') {
      addSegment(segment, add, loops);
      if (!isLast) add(SLASH);
    } else if (isLast) {
      // The path may end before the slash that is in front of it.
      ends.add(elements.length - 1);
      loops[elements.length] = Loop.crossing;
    } else {
      resumes.add(elements.length);
    }
  }
  ends.add(elements.length);
  return { elements, loops, resumes, ends };
}

function addSegment(
  segment: string,
  add: (element: number) => void,
  loops: (typeof Loop)[keyof typeof Loop][],
): void {
  for (let index = 0; index < segment.length; index += 1) {
    const character = segment[index];
    if (character === '?') {
      add(AnyOne.inSegment);
    } else if (character === '*') {
      const isCrossing = segment[index + 1] === '*';
      const state = loops.length - 1;
      if (isCrossing) loops[state] = Loop.crossing;
      else if (loops[state] === Loop.none) loops[state] = Loop.inSegment;
      while (segment[index + 1] === '*') index += 1;
    } else {
      add(segment.charCodeAt(index));
    }
  }
}
