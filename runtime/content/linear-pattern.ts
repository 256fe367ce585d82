import { invalid } from '#runtime/errors/service-error.ts';
import { parsePattern, type PatternNode } from './pattern-syntax.ts';

/** The largest compiled pattern, in states; `x{1,500}` alone takes 500. */
export const PATTERN_STATES_MAX = 1_000;
/** The longest text a pattern is matched against, in UTF-16 units; longer text does not match. */
export const PATTERN_INPUT_MAX = 10_000;
/** States looked at for one text; a text that would take more (only a contrived pattern can) does not match. */
const WORK_MAX = 500_000;
/** Remembered steps of the lazily built automaton; when full it is forgotten and starts anew. */
const STEPS_MAX = 4_096;

type Test = (codePoint: number) => boolean;

/** A state of the nondeterministic automaton. */
interface State {
  readonly kind: 'char' | 'split' | 'start' | 'end' | 'match';
  test: Test | null;
  next: number[];
}

/** A set of states reached together, with the steps taken from it so far. */
interface Cluster {
  readonly states: readonly number[];
  /** The pattern has matched somewhere before this point. */
  readonly isMatch: boolean;
  /** The pattern matches if the text ends here. */
  readonly isMatchAtEnd: boolean;
  readonly steps: Map<number, Cluster>;
}

/**
 * A regular expression that takes time proportional to the text, whatever the pattern. Patterns come from schema
 * definitions and run inside the write path of a branch, where one backtracking pattern such as `(a+)+$` would
 * stop every writer; so the pattern becomes an automaton (Thompson's construction, determinised lazily) instead
 * of a `RegExp`. Features that need backtracking (look-around, back references, word boundaries) are refused when
 * the definition is saved.
 *
 * As in JSON Schema, a pattern may match anywhere unless it is anchored with `^` and `$`.
 */
export class LinearPattern {
  readonly #states: State[] = [];
  readonly #clusters = new Map<string, Cluster>();
  readonly #entry: number;
  #stepCount = 0;

  /** @throws {ServiceError} `VALIDATION_FAILED` for a pattern that is wrong, too large or not supported */
  constructor(pattern: string) {
    const match = this.#add({ kind: 'match', test: null, next: [] });
    this.#entry = this.#compile(parsePattern(pattern), match);
  }

  /** Whether the pattern matches somewhere in the text; false for text over {@link PATTERN_INPUT_MAX}. */
  test(text: string): boolean {
    if (text.length > PATTERN_INPUT_MAX) return false;
    let cluster = this.#clusterOf([this.#entry], true);
    let work = 0;
    for (let index = 0; index < text.length; ) {
      if (cluster.isMatch) return true;
      const codePoint = text.codePointAt(index)!;
      index += codePoint > 0xffff ? 2 : 1;
      let next = cluster.steps.get(codePoint);
      if (next === undefined) {
        work += cluster.states.length;
        if (work > WORK_MAX) return false;
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

  /** Builds the states of a node in front of `next`. @returns the state to enter by */
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
      if (state.kind === 'char' && state.test!(codePoint)) seeds.push(state.next[0]!);
    }
    // An unanchored pattern may start at any character, so the entry is always among the seeds.
    seeds.push(this.#entry);
    const to = this.#clusterOf(seeds, false);
    this.#stepCount += 1;
    if (this.#stepCount > STEPS_MAX) {
      this.#clusters.clear();
      this.#stepCount = 0;
    }
    from.steps.set(codePoint, to);
    return to;
  }

  #clusterOf(seeds: readonly number[], isStart: boolean): Cluster {
    const states = this.#close(seeds, isStart, false);
    const key = `${isStart ? '^' : ''}${states.join(',')}`;
    const known = this.#clusters.get(key);
    if (known !== undefined) return known;
    const isMatch = states.some((index) => this.#states[index]!.kind === 'match');
    const isMatchAtEnd =
      isMatch || this.#close(seeds, isStart, true).some((index) => this.#states[index]!.kind === 'match');
    const cluster: Cluster = { states, isMatch, isMatchAtEnd, steps: new Map() };
    this.#clusters.set(key, cluster);
    return cluster;
  }

  /** All states reached without reading a character; `$` can be passed only at the end of the text. */
  #close(seeds: readonly number[], isStart: boolean, isEnd: boolean): number[] {
    const seen = new Set<number>();
    const pending = [...seeds];
    while (pending.length > 0) {
      const index = pending.pop()!;
      if (seen.has(index)) continue;
      seen.add(index);
      const state = this.#states[index]!;
      const passes =
        state.kind === 'split' || (state.kind === 'start' && isStart) || (state.kind === 'end' && isEnd);
      if (passes) pending.push(...state.next);
    }
    return [...seen].sort((a, b) => a - b);
  }
}
