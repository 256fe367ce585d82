import { assert } from '#runtime/base/assert.ts';
import type { Route } from './route.ts';

/** A route with what its pattern says, worked out once. */
export interface CompiledRoute<Principal> {
  readonly route: Route<Principal>;
  /** Names of the pattern's parts in order, as the captures are. */
  readonly names: readonly string[];
}

/** One piece of a pattern. */
export type PatternPart =
  | { readonly kind: 'literal'; readonly text: string }
  | { readonly kind: 'segment'; readonly name: string }
  | { readonly kind: 'tail'; readonly name: string };

/** Splits a route pattern into its parts; a malformed pattern is a bug of the route table. */
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

type MethodTable<Principal> = Map<string, CompiledRoute<Principal>>;

class TrieNode<Principal> {
  readonly literals = new Map<string, TrieNode<Principal>>();
  segment: TrieNode<Principal> | undefined;
  /** Routes that end here. */
  readonly routes: MethodTable<Principal> = new Map();
  /** Routes whose tail begins here. */
  readonly tails: MethodTable<Principal> = new Map();
}

/**
 * Finds the route of a path in a trie of raw segments. Literal segments win over `{name}`, and `{name}` over
 * `{name*}`; where the better branch has no route for the method, the next one is tried.
 */
export class PathRouter<Principal> {
  readonly #root = new TrieNode<Principal>();

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
    table.set(route.method, { route, names });
  }

  /**
   * @param path the raw path, beginning with a slash
   * @param captures receives the raw text of each named part, in order
   * @returns the route, or `undefined` if the path has none for this method
   */
  match(method: string, path: string, captures: string[]): CompiledRoute<Principal> | undefined {
    return this.#walk(this.#root, method, path, 0, captures);
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
      // Looking up a text of the request means hashing it, so it is not done where nothing can be found.
      const literal = node.literals.size === 0 ? undefined : node.literals.get(text);
      if (literal !== undefined) {
        const found = this.#walk(literal, method, path, end, captures);
        if (found !== undefined) return found;
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
    if (tail !== undefined) captures.push(path.slice(at));
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
