import { invalid } from '#runtime/errors/service-error.ts';
import { parsePattern, type PatternNode } from './pattern-syntax.ts';

/** The largest compiled pattern, in states; `x{1,500}` alone takes 500. */
export const PATTERN_STATES_MAX = 1_000;
/** The longest text a pattern is matched against, in UTF-16 units; longer text does not match. */
export const PATTERN_INPUT_MAX = 10_000;
/** Limit of cached steps of the lazily built automaton; when it is reached, the cache is cleared. */
const STEPS_MAX = 512;
/** Limit of states in all cached sets; when it is reached, the cache is cleared. */
const REMEMBERED_STATES_MAX = 4_096;

/** Estimated nanoseconds of a cached step, and of each state examined for a step that is not cached. */
const STEP_WORK = 20;
const STATE_WORK = 100;
/** Estimated nanoseconds of compiling, per state. */
const COMPILE_WORK = 1_000;

/** Up to this size a set is sorted; a larger one is collected from the marks of all states. */
const SORTED_STATES_MAX = 32;

/** Counts work before it is done; throws when there is too much of it. */
export interface WorkMeter {
  /** @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
  spend(nanoseconds: number): void;
}

type Test = (codePoint: number) => boolean;

/** A state of the nondeterministic automaton. */
interface State {
  readonly kind: 'char' | 'split' | 'start' | 'end' | 'match';
  test: Test | null;
  next: number[];
}

/** A set of states reached together, with its cached steps. */
interface Cluster {
  /** States that read a character, ascending. */
  readonly states: readonly number[];
  /** The pattern has matched somewhere before this point. */
  readonly isMatch: boolean;
  /** The pattern matches if the text ends here. */
  readonly isMatchAtEnd: boolean;
  readonly steps: Map<number, Cluster>;
}

/**
 * A regular expression that takes time proportional to the text, whatever the pattern. Patterns come from schema
 * definitions and run inside the write path of a branch, where one backtracking pattern such as `(a+)+$` would block
 * every writer. So the pattern becomes an automaton (Thompson's construction, determinised lazily) instead of a
 * `RegExp`. Features that need backtracking (look-around, back references, word boundaries) are refused when the
 * definition is saved.
 *
 * As in JSON Schema, a pattern may match anywhere unless it is anchored with `^` and `$`.
 */
export class LinearPattern {
  readonly #states: State[] = [];
  /** By hash of their states. */
  readonly #clusters = new Map<number, Cluster[]>();
  readonly #entry: number;
  /** For each state the number of the last search that reached it. */
  readonly #marks: Uint32Array;
  readonly #pending: number[] = [];
  #search = 0;
  #stepCount = 0;
  #rememberedStates = 0;

  /** @throws {ServiceError} `VALIDATION_FAILED` for a pattern that is invalid, too large or not supported */
  constructor(pattern: string) {
    const match = this.#add({ kind: 'match', test: null, next: [] });
    this.#entry = this.#compile(parsePattern(pattern), match);
    this.#marks = new Uint32Array(this.#states.length);
  }

  /** Number of states of the automaton, which determines its memory and the time of compiling it. */
  get size(): number {
    return this.#states.length;
  }

  /** Work of compiling it, in estimated nanoseconds. */
  get compileWork(): number {
    return this.#states.length * COMPILE_WORK;
  }

  /**
   * Whether the pattern matches somewhere in the text; false for text over {@link PATTERN_INPUT_MAX}.
   *
   * @param meter counts the work; its errors are passed on
   */
  test(text: string, meter?: WorkMeter): boolean {
    if (text.length > PATTERN_INPUT_MAX) return false;
    meter?.spend(text.length * STEP_WORK);
    let cluster = this.#clusterOf([this.#entry], true);
    for (let index = 0; index < text.length; ) {
      if (cluster.isMatch) return true;
      const codePoint = text.codePointAt(index)!;
      index += codePoint > 0xffff ? 2 : 1;
      let next = cluster.steps.get(codePoint);
      if (next === undefined) {
        meter?.spend((cluster.states.length + 1) * STATE_WORK);
        next = this.#step(cluster, codePoint);
      }
      cluster = next;
    }
    return cluster.isMatchAtEnd;
  }

  #add(state: State): number {
    if (this.#states.length >= PATTERN_STATES_MAX) {
      throw invalid(`The pattern is larger than ${PATTERN_STATES_MAX} states; use smaller repeat counts`);
    }
    return this.#states.push(state) - 1;
  }

  /** Builds the states of a node before `next`. @returns the entry state */
  #compile(node: PatternNode, next: number): number {
    switch (node.kind) {
      case 'empty':
        return next;
      case 'char':
        return this.#add({ kind: 'char', test: node.test, next: [next] });
      case 'start':
      case 'end':
        return this.#add({ kind: node.kind, test: null, next: [next] });
      case 'sequence':
        return node.items.reduceRight((after, item) => this.#compile(item, after), next);
      case 'choice': {
        const split = this.#add({ kind: 'split', test: null, next: [] });
        for (const item of node.items) this.#states[split]!.next.push(this.#compile(item, next));
        return split;
      }
      case 'repeat':
        return this.#compileRepeat(node, next);
    }
  }

  #compileRepeat(node: PatternNode & { kind: 'repeat' }, next: number): number {
    let after = next;
    if (node.max === Infinity) {
      const loop = this.#add({ kind: 'split', test: null, next: [next] });
      this.#states[loop]!.next.push(this.#compile(node.item, loop));
      after = loop;
    } else {
      for (let count = node.min; count < node.max; count += 1) {
        const optional = this.#add({ kind: 'split', test: null, next: [next] });
        this.#states[optional]!.next.push(this.#compile(node.item, after));
        after = optional;
      }
    }
    for (let count = 0; count < node.min; count += 1) {
      const entry = this.#compile(node.item, after);
      if (entry === after) break; // an empty item: repeating it a billion times would only take time
      after = entry;
    }
    return after;
  }

  #step(from: Cluster, codePoint: number): Cluster {
    const seeds: number[] = [];
    for (const index of from.states) {
      const state = this.#states[index]!;
      if (state.test!(codePoint)) seeds.push(state.next[0]!);
    }
    // An unanchored pattern may start at any character, so the entry is always one of the seeds.
    seeds.push(this.#entry);
    const to = this.#clusterOf(seeds, false);
    this.#stepCount += 1;
    if (this.#stepCount > STEPS_MAX || this.#rememberedStates > REMEMBERED_STATES_MAX) this.#forget();
    from.steps.set(codePoint, to);
    return to;
  }

  /** Clears the cache. The search in progress keeps its present sets, which no cached step leads to any more. */
  #forget(): void {
    for (const alike of this.#clusters.values()) for (const cluster of alike) cluster.steps.clear();
    this.#clusters.clear();
    this.#stepCount = 0;
    this.#rememberedStates = 0;
  }

  /** All states reachable without reading a character. The same states give the same object. */
  #clusterOf(seeds: readonly number[], isStart: boolean): Cluster {
    const reached: number[] = [];
    const ends: number[] = [];
    this.#search += 1;
    const isMatch = this.#close(seeds, isStart, reached, ends);
    const readers = this.#ascending(reached);
    // `$` can be passed only at the end of the text, so the states after it count only there.
    const isMatchAtEnd = isMatch || (ends.length > 0 && this.#matchesBehind(ends, isStart));
    const hash = hashOf(readers);
    const alike = this.#clusters.get(hash);
    const known = alike?.find(
      (one) =>
        one.isMatch === isMatch && one.isMatchAtEnd === isMatchAtEnd && isSameList(one.states, readers),
    );
    if (known !== undefined) return known;
    const cluster: Cluster = { states: readers, isMatch, isMatchAtEnd, steps: new Map() };
    if (alike === undefined) this.#clusters.set(hash, [cluster]);
    else alike.push(cluster);
    this.#rememberedStates += readers.length + 1;
    return cluster;
  }

  /**
   * Follows all transitions that read no character.
   *
   * @param reached filled with the states that read one
   * @param ends filled with the states after a `$`
   * @returns whether the pattern has matched
   */
  #close(seeds: readonly number[], isStart: boolean, reached: number[], ends: number[]): boolean {
    const marks = this.#marks;
    const pending = this.#pending;
    let isMatch = false;
    for (const seed of seeds) pending.push(seed);
    while (pending.length > 0) {
      const index = pending.pop()!;
      if (marks[index] === this.#search) continue;
      marks[index] = this.#search;
      const { kind, next } = this.#states[index]!;
      if (kind === 'char') reached.push(index);
      else if (kind === 'match') isMatch = true;
      else if (kind === 'end') ends.push(next[0]!);
      else if (kind === 'split' || isStart) for (const each of next) pending.push(each);
    }
    return isMatch;
  }

  /** A `$` may be followed by another `$`. */
  #matchesBehind(ends: readonly number[], isStart: boolean): boolean {
    let seeds = ends;
    while (seeds.length > 0) {
      const further: number[] = [];
      if (this.#close(seeds, isStart, [], further)) return true;
      seeds = further;
    }
    return false;
  }

  /** The reached states in ascending order. */
  #ascending(reached: number[]): readonly number[] {
    if (reached.length <= SORTED_STATES_MAX) return reached.sort((a, b) => a - b);
    const ordered: number[] = [];
    for (let index = 0; index < this.#marks.length; index += 1) {
      if (this.#marks[index] === this.#search && this.#states[index]!.kind === 'char') ordered.push(index);
    }
    return ordered;
  }
}

function hashOf(states: readonly number[]): number {
  let hash = states.length;
  for (const state of states) hash = (Math.imul(hash, 31) + state) | 0;
  return hash;
}

function isSameList(a: readonly number[], b: readonly number[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
}
