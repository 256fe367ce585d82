import type { DecisionWork } from '../decision-work.ts';
import type { BoundRule } from './bound-rule.ts';

/** Up to this many rules each is asked for each node: comparing a few paths costs less than finding those to compare. */
const FEW = 8;

/** Paths of a rule by which it is found. One with more is found by the path of its permission. */
const TOPS_MAX = 4;

/** Work of a step towards the path of a node, in units. */
const STEP_WORK = 16;

/** Lists of rules of several places that are kept together. */
const MERGED_MAX = 64;

/** A rule with its number in the list. */
interface RankedRule {
  readonly rank: number;
  readonly rule: BoundRule;
}

/** The rules that hold for nodes at or below a path only. */
interface Place {
  readonly above: Place | undefined;
  readonly rules: RankedRule[];
  /** By the name of the next segment. */
  readonly below: Map<string, Place>;
}

/**
 * A list of rules, of which a node is compared only with those that can hold at its path: each rule holds at or below one of
 * a few literal paths.
 */
export class RulesByPath {
  readonly #all: readonly BoundRule[];
  /** The root; undefined where all rules are asked for every node. */
  readonly #root: Place | undefined;
  /** Rules of a place and of those above it, in the order of the list. */
  readonly #merged = new Map<Place, readonly BoundRule[]>();

  /** @param rules in the order in which they are asked */
  constructor(rules: readonly BoundRule[]) {
    this.#all = rules;
    if (rules.length <= FEW) return;
    const root: Place = { above: undefined, rules: [], below: new Map() };
    for (const [rank, rule] of rules.entries())
      for (const top of rule.tops.length > TOPS_MAX ? [rule.path.top] : rule.tops)
        placeAt(root, top).rules.push({ rank, rule });
    if (root.below.size > 0) this.#root = root;
  }

  /** The rules that can hold at a path, in the order of the list. @param work of the decision, from which it takes */
  at(path: string, work: DecisionWork): readonly BoundRule[] {
    if (this.#root === undefined) return this.#all;
    let place = this.#root;
    for (let from = 1; place.below.size > 0 && from < path.length; ) {
      const slash = path.indexOf('/', from);
      const end = slash === -1 ? path.length : slash;
      const next = place.below.get(path.slice(from, end));
      work.left -= STEP_WORK;
      if (next === undefined) break;
      place = next;
      from = end + 1;
    }
    return this.#merged.get(place) ?? this.#merge(place, work);
  }

  #merge(last: Place, work: DecisionWork): readonly BoundRule[] {
    const found: RankedRule[] = [];
    for (let place: Place | undefined = last; place !== undefined; place = place.above)
      found.push(...place.rules);
    found.sort((a, b) => a.rank - b.rank);
    work.left -= found.length * STEP_WORK;
    const merged = found.map(({ rule }) => rule);
    if (this.#merged.size >= MERGED_MAX) this.#merged.clear();
    this.#merged.set(last, merged);
    return merged;
  }
}

function placeAt(root: Place, top: string): Place {
  let place = root;
  for (const name of top.split('/')) {
    if (name === '') continue;
    const next: Place = place.below.get(name) ?? { above: place, rules: [], below: new Map() };
    place.below.set(name, next);
    place = next;
  }
  return place;
}
