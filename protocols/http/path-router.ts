import { assert } from '#runtime/base/assert.ts';
import type { Route } from './route.ts';

/** A route with its parsed pattern. */
export interface CompiledRoute<Principal> {
  readonly route: Route<Principal>;
  /** Names of the pattern's parts, in the order of the captures. */
  readonly names: readonly string[];
  /** Whether the last of them is a `{name*}`. */
  readonly hasTail: boolean;
}

/** The route of a path, with the raw texts of its named parts in order. */
export interface RouteMatch<Principal> {
  readonly compiled: CompiledRoute<Principal>;
  readonly captures: readonly string[];
}

/** One piece of a pattern. */
export type PatternPart =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'segment'; readonly name: string }
  | { readonly kind: 'tail'; readonly name: string };

/** Splits a route pattern into its parts; a malformed pattern is a bug in the route table. */
export function parsePattern(pattern: string): readonly PatternPart[] {
  assert(pattern.startsWith('/'), `route pattern ${pattern} starts with a slash`);
  const pieces = pattern.slice(1).split('/');
  const parts = pieces.map((piece, index): PatternPart => {
    const found = /^\{([A-Za-z][A-Za-z0-9_]*)(\*?)\}$/.exec(piece);
    if (found === null) {
      assert(!/[{}*]/.test(piece), `route pattern ${pattern} has whole-segment parameters only`);
      return { kind: 'literal', text: piece };
    }
    const name = found[1] as string;
    if (found[2] === '') return { kind: 'segment', name };
    assert(index === pieces.length - 1, `route pattern ${pattern} has its tail last`);
    return { kind: 'tail', name };
  });
  const names = parts.flatMap((part) => (part.kind === 'literal' ? [] : [part.name]));
  assert(new Set(names).size === names.length, `route pattern ${pattern} names each part once`);
  return parts;
}

/** Number of paths cached with their routes; a power of two. */
const RECENT_MAX = 256;

/** Longest cached path, in characters. */
const RECENT_PATH_LENGTH_MAX = 128;

/** A cached match with its key. */
interface Recent<Principal> extends RouteMatch<Principal> {
  readonly method: string;
  readonly path: string;
}

/** The latest match of a route with a tail that any text behind its prefix leads to. */
interface RecentTail<Principal> {
  readonly method: string;
  /** The path up to the tail, with the slash with which that begins. */
  readonly prefix: string;
  readonly compiled: CompiledRoute<Principal>;
  /** The captures in front of the tail. */
  readonly captures: readonly string[];
}

/** The cache slot of a path. Hashing the whole path would take as long as finding its route. */
function recentSlot(path: string): number {
  const { length } = path;
  const middle = path.charCodeAt(length >> 1);
  return (
    (length + 7 * path.charCodeAt(length - 1) + 31 * path.charCodeAt(length - 3) + 5 * middle) &
    (RECENT_MAX - 1)
  );
}

type MethodTable<Principal> = Map<string, CompiledRoute<Principal>>;

class TrieNode<Principal> {
  readonly literals = new Map<string, TrieNode<Principal>>();
  segment: TrieNode<Principal> | undefined;
  /** Routes whose pattern ends here. */
  readonly routes: MethodTable<Principal> = new Map();
  /** Routes whose tail begins here. */
  readonly tails: MethodTable<Principal> = new Map();
  /** What {@link leadsOn} found, by the methods of routes. */
  readonly leadsOn = new Map<string, boolean>();
}

/** Whether a route for a method is further below a node than its tails. The routes are complete when it is asked. */
function leadsOn<Principal>(node: TrieNode<Principal>, method: string): boolean {
  const known = node.leadsOn.get(method);
  if (known !== undefined) return known;
  const below = [...node.literals.values(), ...(node.segment === undefined ? [] : [node.segment])];
  const found = below.some(
    (next) => next.routes.has(method) || next.tails.has(method) || leadsOn(next, method),
  );
  node.leadsOn.set(method, found);
  return found;
}

/**
 * Finds the route of a path in a trie of raw segments. Literal segments win over `{name}`, and `{name}` over
 * `{name*}`; if the preferred branch has no route for the method, the next one is tried.
 *
 * Clients repeat few paths where the body carries the request, so the latest matches are cached. A cached match
 * returns the strings of the first request, whose hashes are computed already. Paths with a tail address content and
 * are too numerous to cache; of these the prefix of the latest one is kept, where nothing behind it decides.
 */
export class PathRouter<Principal> {
  readonly #root = new TrieNode<Principal>();
  readonly #recent: (Recent<Principal> | undefined)[] = Array.from({ length: RECENT_MAX });
  #recentTail: RecentTail<Principal> | undefined;
  /** Whether the walk went where the text of each segment led, and had to go back nowhere. */
  #isStraight = true;

  constructor(routes: readonly Route<Principal>[]) {
    for (const route of routes) this.#add(route);
  }

  #add(route: Route<Principal>): void {
    const parts = parsePattern(route.pattern);
    const names = parts.flatMap((part) => (part.kind === 'literal' ? [] : [part.name]));
    let node = this.#root;
    let table: MethodTable<Principal> | undefined;
    for (const part of parts) {
      if (part.kind === 'tail') {
        table = node.tails;
      } else if (part.kind === 'segment') {
        node.segment ??= new TrieNode();
        node = node.segment;
      } else {
        const next = node.literals.get(part.text) ?? new TrieNode<Principal>();
        node.literals.set(part.text, next);
        node = next;
      }
    }
    table ??= node.routes;
    assert(!table.has(route.method), `${route.method} ${route.pattern} is one route`);
    table.set(route.method, { route, names, hasTail: table === node.tails });
  }

  /**
   * @param path the raw path, beginning with a slash
   * @returns the route, or `undefined` if the path has none for this method
   */
  match(method: string, path: string): RouteMatch<Principal> | undefined {
    const tailed = this.#recentTail;
    if (tailed !== undefined && tailed.method === method && path.startsWith(tailed.prefix)) {
      const { captures, compiled, prefix } = tailed;
      return { compiled, captures: [...captures, path.slice(prefix.length - 1)] };
    }
    const slot = recentSlot(path);
    const recent = this.#recent[slot];
    if (recent !== undefined && recent.path === path && recent.method === method) return recent;
    const captures: string[] = [];
    this.#isStraight = true;
    const compiled = this.#walk(this.#root, method, path, 0, captures);
    if (compiled === undefined) return undefined;
    if (compiled.hasTail && this.#isStraight) this.#keepTail(method, path, compiled, captures);
    if (compiled.hasTail || path.length > RECENT_PATH_LENGTH_MAX) return { compiled, captures };
    const match = { method, path, compiled, captures };
    this.#recent[slot] = match;
    return match;
  }

  #keepTail(
    method: string,
    path: string,
    compiled: CompiledRoute<Principal>,
    captures: readonly string[],
  ): void {
    const tail = captures.at(-1) as string;
    const prefix = path.slice(0, path.length - tail.length + 1);
    if (tail === '' || prefix.length > RECENT_PATH_LENGTH_MAX) return;
    this.#recentTail = { method, prefix, compiled, captures: captures.slice(0, -1) };
  }

  #walk(
    node: TrieNode<Principal>,
    method: string,
    path: string,
    at: number,
    captures: string[],
  ): CompiledRoute<Principal> | undefined {
    if (at === path.length) {
      const found = node.routes.get(method);
      if (found !== undefined) return found;
    } else {
      const slash = path.indexOf('/', at + 1);
      const end = slash < 0 ? path.length : slash;
      const text = path.slice(at + 1, end);
      // A lookup hashes the text of the segment, so it is skipped where nothing can match.
      const literal = node.literals.size === 0 ? undefined : node.literals.get(text);
      if (literal !== undefined) {
        const found = this.#walk(literal, method, path, end, captures);
        if (found !== undefined) return found;
        this.#isStraight = false;
      }
      if (node.segment !== undefined && text !== '') {
        const before = captures.length;
        captures.push(text);
        const found = this.#walk(node.segment, method, path, end, captures);
        if (found !== undefined) return found;
        captures.length = before;
      }
    }
    const tail = node.tails.get(method);
    if (tail === undefined) return undefined;
    // Another text behind this place might lead elsewhere.
    if (leadsOn(node, method)) this.#isStraight = false;
    captures.push(path.slice(at));
    return tail;
  }

  /** Methods that have a route at this path, sorted; empty when the path is unknown. */
  methodsAt(path: string): readonly string[] {
    const methods = new Set<string>();
    this.#collect(this.#root, path, 0, methods);
    return [...methods].sort();
  }

  #collect(node: TrieNode<Principal>, path: string, at: number, methods: Set<string>): void {
    for (const method of node.tails.keys()) methods.add(method);
    if (at === path.length) {
      for (const method of node.routes.keys()) methods.add(method);
      return;
    }
    const slash = path.indexOf('/', at + 1);
    const end = slash < 0 ? path.length : slash;
    const text = path.slice(at + 1, end);
    const literal = node.literals.get(text);
    if (literal !== undefined) this.#collect(literal, path, end, methods);
    if (node.segment !== undefined && text !== '') this.#collect(node.segment, path, end, methods);
  }
}
