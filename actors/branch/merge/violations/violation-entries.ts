import type { StoredKind } from '#runtime/tree/schema-store.ts';
import type { ConflictParty, MergeConflict, MergeViolation } from '../../merge-messages.ts';
import { nodeKeyOf } from '../merge-sides.ts';
import type { DefinitionAddress, NodeAddress } from '../../pair-messages.ts';
import { definitionConflict, nodeConflictInSteps } from '../conflict-entries.ts';
import { type FoundViolations, PARTIES_TOLD_MAX, type SharedViolation } from './found-violations.ts';
import type { ChangedDefinition } from './merged-schemas.ts';
import { type MergeView, partyEntry, partyLabel } from './merge-view.ts';
import { isDefinition, type Party, partyKey, type Violation } from './violation.ts';

/**
 * Converts violations to conflicts: one for each party that a side changed.
 *
 * @param isOpen whether a party needs a resolution
 * @param most number of conflicts; definitions come first, because one resolution of a definition may resolve the
 *   violations of many nodes
 * @returns unsorted; yields where the work may pause
 */
export function* violationConflicts(
  view: MergeView,
  found: FoundViolations,
  isOpen: (party: Party) => boolean,
  most: number,
): Generator<undefined, readonly MergeConflict[]> {
  const wrong = new Map<string, { readonly party: Party; readonly violations: MergeViolation[] }>();
  function* noteOn(party: Party, entry: Generator<undefined, MergeViolation>): Generator<undefined, void> {
    const key = partyKey(party);
    const known = wrong.get(key);
    if (known !== undefined) known.violations.push(yield* entry);
    else if (wrong.size < most) wrong.set(key, { party, violations: [yield* entry] });
  }
  for (const { party, types } of found.shared) {
    yield;
    if (!isOpen(party)) continue;
    for (const shared of types.values()) {
      if (!found.isSubject(party, shared.type)) yield* noteOn(party, sharedEntry(view, party, shared));
    }
  }
  for (const violation of found.violations) {
    yield;
    if (isOpen(violation.subject)) yield* noteOn(violation.subject, violationEntry(view, violation));
  }
  const conflicts: MergeConflict[] = [];
  for (const { party, violations } of wrong.values()) {
    yield;
    const conflict = isDefinition(party)
      ? definitionConflictOf(view, party)
      : yield* nodeConflictOf(view, party, violations);
    conflicts.push({ ...conflict, violations });
  }
  return conflicts;
}

function* violationEntry(
  view: MergeView,
  { message, others, property, type }: Violation,
): Generator<undefined, MergeViolation> {
  return {
    violation_type: type,
    message,
    ...(property === undefined ? {} : { property }),
    with: yield* partyEntries(view, others.slice(0, PARTIES_TOLD_MAX)),
  };
}

function* partyEntries(
  view: MergeView,
  parties: readonly Party[],
): Generator<undefined, readonly ConflictParty[]> {
  const entries: ConflictParty[] = [];
  for (const party of parties) entries.push(yield* partyEntry(view, party));
  return entries;
}

function* sharedEntry(
  view: MergeView,
  party: Party,
  { count, first, subjects, type }: SharedViolation,
): Generator<undefined, MergeViolation> {
  const isGone = isDefinition(party) && view.schemas.changed.get(keyOf(party))?.merged === undefined;
  const more = count === 1 ? '' : ` (and ${count - 1} more)`;
  const label = yield* partyLabel(view, first.subject);
  return {
    violation_type: type,
    message: `With${isGone ? 'out' : ''} it ${label} would be invalid: ${first.message}${more}`,
    ...(first.property === undefined ? {} : { property: first.property }),
    with: yield* partyEntries(view, subjects),
    count,
  };
}

function definitionConflictOf({ schemas }: MergeView, definition: DefinitionAddress): MergeConflict {
  const { base, kind, name, other, own } = schemas.changed.get(keyOf(definition)) as ChangedDefinition;
  return definitionConflict(kind as StoredKind, name, { base, target: own, source: other });
}

function* nodeConflictOf(
  { sides, tree }: MergeView,
  node: NodeAddress,
  violations: readonly MergeViolation[],
): Generator<undefined, MergeConflict> {
  const key = nodeKeyOf(node.workspace, node.id);
  const base = (sides.own.get(key) ?? sides.other.get(key))?.before;
  const areNew = base === undefined && violations.every((one) => one.violation_type === 'DuplicateValue');
  const states = { base, target: yield* tree.targetState(node), source: yield* tree.sourceState(node) };
  return yield* nodeConflictInSteps(areNew ? 'BothAdded' : 'BothModified', node.workspace, states);
}

function keyOf({ kind, name }: DefinitionAddress): string {
  return nodeKeyOf(kind, name);
}
