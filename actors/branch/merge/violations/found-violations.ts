import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { eachInSlices } from '../../each-in-slices.ts';
import type { ViolationType } from '../../merge-messages.ts';
import { definitionViolations } from './definition-violations.ts';
import { mergedNodes, type MergeView } from './merge-view.ts';
import { NodeViolations } from './node-violations.ts';
import { PathViolations } from './path-violations.ts';
import { UniqueViolations } from './unique-violations.ts';
import { isDefinition, type Party, partyKey, type Violation } from './violation.ts';

/** Most violations that are kept. Further ones are only counted. */
const VIOLATIONS_KEPT_MAX = 10_000;

/** Most parties that one violation names. */
export const PARTIES_TOLD_MAX = 10;

/** The violations of one type that involve one party without it being their subject. */
export interface SharedViolation {
  readonly type: ViolationType;
  /** The first of them. */
  readonly first: Violation;
  /** The subjects of the first ones. */
  readonly subjects: readonly Party[];
  /** The number of subjects. */
  readonly count: number;
}

/** A party involved in violations of other subjects. */
export interface SharedParty {
  readonly party: Party;
  readonly types: ReadonlyMap<ViolationType, SharedViolation>;
}

/** The violations of a merge. */
export class FoundViolations {
  /** Sorted by path. */
  readonly violations: readonly Violation[];
  /** Definitions, and parents whose type has changed. */
  readonly shared: readonly SharedParty[];
  readonly #subjects: ReadonlySet<string>;

  private constructor(violations: readonly Violation[], shared: readonly SharedParty[]) {
    this.violations = violations;
    this.shared = shared;
    this.#subjects = new Set(violations.map(({ subject, type }) => `${type} ${partyKey(subject)}`));
  }

  /** @returns yields where the work may pause */
  static *of({ counts, kept }: NotedViolations): Generator<undefined, FoundViolations> {
    const violations = yield* sortInSlices([...kept], byPath);
    const shared = new Map<string, { party: Party; types: Map<ViolationType, SharedViolation> }>();
    yield* eachInSlices(violations, (violation) => {
      for (const party of sharingParties(violation)) {
        const key = partyKey(party);
        const known = shared.get(key) ?? { party, types: new Map<ViolationType, SharedViolation>() };
        shared.set(key, known);
        const { subject, type } = violation;
        const count = counts.get(`${type} ${key}`)?.count ?? 0;
        const before = known.types.get(type) ?? { type, first: violation, subjects: [], count };
        known.types.set(type, { ...before, subjects: withParty(before.subjects, subject) });
      }
    });
    return new FoundViolations(violations, [...shared.values()]);
  }

  /** Whether a party is the subject of a violation of a type. */
  isSubject(party: Party, type: ViolationType): boolean {
    return this.#subjects.has(`${type} ${partyKey(party)}`);
  }
}

/** Violations as they are found. */
class NotedViolations {
  readonly kept: Violation[] = [];
  /** By type and {@link partyKey}. `last`: the subject that was counted last. */
  readonly counts = new Map<string, { count: number; last: string }>();

  note(violation: Violation): void {
    if (this.kept.length < VIOLATIONS_KEPT_MAX) this.kept.push(violation);
    const last = partyKey(violation.subject);
    for (const party of sharingParties(violation)) {
      const key = `${violation.type} ${partyKey(party)}`;
      const known = this.counts.get(key);
      // The violations of one subject are recorded consecutively.
      if (known === undefined) this.counts.set(key, { count: 1, last });
      else if (known.last !== last) this.counts.set(key, { count: known.count + 1, last });
    }
  }
}

/**
 * The other parties of a violation that get an entry for it. Two nodes with the same value are both subjects and need
 * none.
 */
function sharingParties({ others, type }: Violation): readonly Party[] {
  return type === 'DuplicateValue' ? others.filter(isDefinition) : others;
}

function withParty(parties: readonly Party[], party: Party): readonly Party[] {
  if (parties.length === PARTIES_TOLD_MAX) return parties;
  const last = parties.at(-1);
  return last !== undefined && partyKey(last) === partyKey(party) ? parties : [...parties, party];
}

function byPath(a: Violation, b: Violation): number {
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  const [first, second] = [partyKey(a.subject), partyKey(b.subject)];
  return first === second ? 0 : first < second ? -1 : 1;
}

/**
 * Finds the violations of a merge under the decisions made so far. The cost grows with the changed nodes. A node is
 * validated only if a definition that its type uses differs between the merged schema and the side the node is from.
 *
 * @returns yields where the work may pause
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 * @see docs/decisions/0048-merge-violations.md
 */
export function* findViolations(view: MergeView): Generator<undefined, FoundViolations> {
  const noted = new NotedViolations();
  const note = (violation: Violation): void => noted.note(violation);
  yield* definitionViolations(view, note);
  const nodes = yield* NodeViolations.of(view, note);
  const paths = yield* PathViolations.of(view, note);
  const uniques = new UniqueViolations(view, note);
  for (const node of mergedNodes(view)) {
    yield;
    if (node === undefined) continue;
    yield* nodes.check(node);
    yield* paths.check(node);
    uniques.add(node);
  }
  yield* uniques.find();
  return yield* FoundViolations.of(noted);
}
