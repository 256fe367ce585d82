import { sortInSlices } from '#runtime/base/event-loop/sliced-sort.ts';
import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import { eachInSlices } from '../each-in-slices.ts';
import type { MergeConflict } from '../merge-messages.ts';
import { byPlace, CONFLICTS_MAX } from './conflict-entries.ts';
import { type FoundConflicts, mergeView } from './find-conflicts.ts';
import { type MergeDecisions, type MergeQuestion, resolveConflicts, unfit } from './merge-decisions.ts';
import { nodeKeyOf } from './merge-sides.ts';
import type { NodeDecision } from './merged-tree.ts';
import { type FoundViolations, findViolations } from './violations/found-violations.ts';
import { isChanged, type MergeView, partyLabel } from './violations/merge-view.ts';
import { isDefinition, type Party, partyKey, type Violation } from './violations/violation.ts';
import { violationConflicts } from './violations/violation-entries.ts';

/** Most violations in the message of one error; its details have more. */
const WRONGS_IN_MESSAGE_MAX = 5;

/** Most violations in the details of one error. */
const WRONGS_LISTED_MAX = 100;

/**
 * Applies resolutions to conflicts, see {@link resolveConflicts}, then checks the result for violations. If the request
 * has resolutions for those, they are applied too, and the result is checked again.
 *
 * - A violation can be resolved by resolutions for any of its parties that make the result valid. If it remains, its
 *   parties without a resolution are remaining conflicts. A resolution for a node never changes a definition.
 * - If two nodes have the same unique value, a node without a resolution follows the side of the other node's
 *   resolution.
 * - A node whose type the workspace does not allow is added only if a resolution says so.
 *
 * @param found the conflicts before any decision
 * @returns yields where the work may pause
 * @throws {ServiceError} `VALIDATION_FAILED` for a resolution without a conflict, for resolutions that contradict each
 *   other, and for given properties or definitions that are invalid
 * @see docs/decisions/0048-merge-violations.md
 */
export function* settleConflicts(
  question: MergeQuestion,
  found: FoundConflicts,
): Generator<undefined, MergeDecisions> {
  const resolver = new ConflictResolver(question);
  // Every listed conflict may have a resolution, even if the resolution of another one resolves it.
  yield* resolver.take(found.violations);
  for (;;) {
    const decisions = yield* resolver.settle();
    if (decisions === undefined) continue;
    question.resolutions.requireAllTaken();
    return decisions;
  }
}

class ConflictResolver {
  readonly #question: MergeQuestion;
  /** Conflicts made of violations that have a resolution, by node and workspace. */
  readonly #taken = new Map<string, MergeConflict>();
  /** Nodes that follow the decision about another one, by {@link partyKey}. */
  readonly #following = new Map<string, NodeDecision>();

  constructor(question: MergeQuestion) {
    this.#question = question;
  }

  /** Takes the conflicts that have a resolution. @returns whether one has that was not taken before */
  *take(conflicts: readonly MergeConflict[]): Generator<undefined, boolean> {
    const before = this.#taken.size;
    yield* eachInSlices(conflicts, (conflict) => {
      const key = nodeKeyOf(conflict.workspace ?? '', conflict.node_id);
      if (this.#question.resolutions.take(conflict) !== undefined) this.#taken.set(key, conflict);
    });
    return this.#taken.size > before;
  }

  /** @returns undefined if further resolutions apply; each call applies at least one more, so the calls end */
  *settle(): Generator<undefined, MergeDecisions | undefined> {
    const decisions = yield* resolveConflicts(this.#question, {
      conflicts: [...this.#taken.values()],
      following: [...this.#following.values()],
    });
    const view = yield* mergeView(this.#question.input, decisions);
    const found = yield* findViolations(view);
    if (found.violations.length === 0) return decisions;
    const remaining = new RemainingViolations(view, decisions, found);
    yield* remaining.look();
    const most = CONFLICTS_MAX - decisions.open.length;
    const conflicts = yield* violationConflicts(view, found, (party) => remaining.isOpen(party), most);
    if ((yield* this.take(conflicts)) || this.#follow(remaining)) return undefined;
    const open = yield* sortInSlices([...decisions.open, ...conflicts], byPlace);
    if (remaining.unfit.length > 0 && !remaining.isLeft && decisions.open.length === 0)
      throw yield* remaining.refusal();
    return { ...decisions, open };
  }

  #follow({ following }: RemainingViolations): boolean {
    const before = this.#following.size;
    for (const decision of following) {
      const key = partyKey(decision);
      if (!this.#following.has(key)) this.#following.set(key, decision);
    }
    return this.#following.size > before;
  }
}

/** The violations that remain after all resolutions have been applied. */
class RemainingViolations {
  /** Violations that the given resolutions make impossible to resolve. */
  readonly unfit: Violation[] = [];
  /** Nodes that follow the decision about another one with the same value. */
  readonly following: NodeDecision[] = [];
  /** Whether a party has no resolution yet. */
  isLeft = false;
  readonly #view: MergeView;
  readonly #decisions: MergeDecisions;
  readonly #found: FoundViolations;
  readonly #open = new Set<string>();

  constructor(view: MergeView, decisions: MergeDecisions, found: FoundViolations) {
    this.#view = view;
    this.#decisions = decisions;
    this.#found = found;
  }

  *look(): Generator<undefined, void> {
    for (const violation of this.#found.violations) {
      this.#judge(violation);
      yield;
    }
  }

  /** Whether a party is a remaining conflict. */
  isOpen(party: Party): boolean {
    return this.#open.has(partyKey(party));
  }

  /** One error for all of them. */
  *refusal(): Generator<undefined, ServiceError> {
    const wrongs: string[] = [];
    for (const { message, subject } of this.unfit.slice(0, WRONGS_LISTED_MAX))
      wrongs.push(`${yield* partyLabel(this.#view, subject)} would be invalid: ${message}`);
    const more =
      this.unfit.length > WRONGS_IN_MESSAGE_MAX
        ? ` (and ${this.unfit.length - WRONGS_IN_MESSAGE_MAX} more)`
        : '';
    const why = wrongs.slice(0, WRONGS_IN_MESSAGE_MAX).join('; ') + more;
    const details = { errors: wrongs };
    if (!this.unfit.every(({ subject }) => this.#isManual(subject))) return unfit(why, details);
    return invalid(`What the resolutions give does not fit: ${why}`, { field: 'resolutions', details });
  }

  #judge(violation: Violation): void {
    const { others, subject } = violation;
    const undecided = [subject, ...others].filter(
      (party) => isDecidable(this.#view, party) && !this.#isDecided(party),
    );
    if (this.#isManual(subject) || undecided.length === 0) {
      this.unfit.push(violation);
      this.#open.add(partyKey(subject));
      return;
    }
    this.isLeft = true;
    for (const party of undecided) this.#open.add(partyKey(party));
    this.#followSide(violation);
  }

  /** If two nodes have the same value, the one without a resolution follows the one with a resolution. */
  #followSide({ others, subject, type }: Violation): void {
    if (type !== 'DuplicateValue' || isDefinition(subject)) return;
    const decided = this.#view.tree.decisionOf(subject);
    if (decided?.origin !== 'given') return;
    for (const party of others) {
      if (isDefinition(party) || !isDecidable(this.#view, party) || this.#isDecided(party)) continue;
      this.following.push({ ...party, choice: decided.choice, origin: 'follows' });
    }
  }

  #isDecided(party: Party): boolean {
    return isDefinition(party)
      ? this.#decisions.definitions.has(nodeKeyOf(party.kind, party.name))
      : this.#view.tree.decisionOf(party)?.origin === 'given';
  }

  /** Whether a resolution gives the content of a party. */
  #isManual(party: Party): boolean {
    if (isDefinition(party)) {
      return this.#decisions.definitions.get(nodeKeyOf(party.kind, party.name))?.choice === 'manual';
    }
    return this.#view.tree.decisionOf(party)?.properties !== undefined;
  }
}

/** Whether a party can have a resolution: a node that neither side changed cannot. */
function isDecidable(view: MergeView, party: Party): boolean {
  return isDefinition(party) || isChanged(view, party);
}
