import { requireAdministrator } from '#runtime/access/policy.ts';
import { assert } from '#runtime/base/assert.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { restoredSchemaRecord } from '#runtime/content/definitions/schema-record.ts';
import { differingLocales, netChange } from '#runtime/tree/net-change.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { readBranchHead, type RevisionFacts, writeRevisionInSteps } from '#runtime/tree/revision-store.ts';
import type { RevisionRecord } from '#runtime/tree/revision-record.ts';
import { authorship, type EditScope } from '../edit-scope.ts';
import { PlannedWrites } from '../merge/planned-writes.ts';
import type { RevertResult, RevertRevisions } from '../revert-messages.ts';
import { requireShippedParts, shippedPartsBefore } from '../schema/shipped-types.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { findViolations } from './revert-violations.ts';
import { type RevertedNode, RevertPlan } from './revert-plan.ts';
import { revertedRevisions } from './reverted-revisions.ts';
import { Dependents } from './revert-dependents.ts';

/** Longest part of a reverted revision's message that the message of the revert repeats, in characters. */
const QUOTED_MESSAGE_MAX = 200;

/** Most reverted revisions named in an audit entry. */
const NAMED_REVISIONS_MAX = 16;

/**
 * Undoes revisions of the branch as one new revision: every node, locale and definition they changed gets its state
 * from before them. If it was changed since, that is a conflict. With conflicts nothing is written, and if nothing is
 * left to undo there is no revision. A dry run does all the work and rolls it back. Branch protection does not apply:
 * this is an ordinary write.
 *
 * Undoing a merge restores the state of the branch before it. The merged revisions still count as merged, so the next
 * merge does not apply them again.
 *
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`; `REVISION_NOT_FOUND`, `INVALID_REVISION_NUMBER`;
 *   `COMMIT_TOO_LARGE`; `VALIDATION_FAILED` for revisions that cannot be reverted, and when a restored state is invalid
 *   under the current types and unique values; `FORBIDDEN` when a shipped type would lose a part
 * @see revert-messages.ts, RevertRevisions; docs/interface/merges.md#reverting
 */
export function* revertRevisions(
  edit: EditScope,
  command: RevertRevisions,
): Generator<undefined, RevertResult> {
  const { turn } = edit;
  requireAdministrator(turn.caller.policy, turn.caller.principal);
  const records = yield* revertedRevisions(turn, command.which);
  const plan = yield* RevertPlan.of(edit, records);
  yield* findViolations(plan, new Moment(edit.turn));
  const conflicts = plan.conflicts.sorted;
  if (conflicts.length > 0) return resultOf(edit, { success: false, conflicts });
  const writes = yield* planWrites(edit, plan, records);
  const { definitions } = writes;
  if (writes.size > 0 || definitions.length > 0) {
    yield* writeChecked(edit, plan, writes, records);
    if (command.dryRun) {
      yield* turn.undoInSteps();
      edit.state.commandSchemas.forget();
    } else {
      const changes = yield* writes.changes();
      yield* writeRevisionInSteps(turn, factsOf(edit, command, records), changes, definitions);
    }
  }
  return resultOf(edit, { nodes_changed: writes.size, definitions_changed: definitions.length });
}

function* writeChecked(
  edit: EditScope,
  plan: RevertPlan,
  writes: PlannedWrites,
  records: readonly RevisionRecord[],
): Generator<undefined, void> {
  const nodes = [...plan.nodes.values()];
  // This revert itself may make a type immutable or mutable.
  const immutable = nodes.filter((node) => isRewritten(node) && isImmutable(edit, node));
  const dependents = yield* Dependents.on(edit, plan, records);
  const types = plan.definitions.filter(({ kind }) => kind === 'node_type');
  const shipped = yield* shippedPartsBefore(edit.turn, new Set(types.map(({ name }) => name)));
  yield* writes.write();
  requireShippedParts(shipped, edit.state.commandSchemas.get(edit.turn));
  for (const { present, workspace } of immutable) edit.requireMutable(workspace, present as NodeRecord);
  yield* writes.requireValid(nodes.filter(isToBeChecked));
  yield* dependents.requireStill(writes);
}

function* planWrites(
  edit: EditScope,
  plan: RevertPlan,
  records: readonly RevisionRecord[],
): Generator<undefined, PlannedWrites> {
  const details = { reverted: records.slice(0, NAMED_REVISIONS_MAX).map(({ revision }) => revision) };
  const writes = new PlannedWrites(edit, { noun: 'revert', details });
  for (const change of plan.definitions) {
    const { after, before } = change;
    if (after === undefined) writes.setDefinition(change);
    else {
      const definition = restoredSchemaRecord(after.definition, before?.definition, edit.now);
      writes.setDefinition({ ...change, after: { ...after, definition } });
    }
  }
  for (const node of plan.nodes.values()) {
    planNode(writes, node);
    yield;
  }
  yield* writes.followMoved();
  return writes;
}

function planNode(writes: PlannedWrites, { id, present, wanted, workspace }: RevertedNode): void {
  const address = { workspace, id, present, content: wanted };
  if (wanted === undefined) {
    const gone = { translations: null, changedLocale: null, isPlaced: false };
    writes.set({ ...address, ...gone, operation: 'deleted' });
    return;
  }
  const { orderKey, parentId, translations } = wanted.header;
  const change = netChange(workspace, id, present, wanted);
  assert(change !== undefined, 'a node of the plan comes out different');
  const { isNode, isReordered, locales, operation } = change;
  const [locale] = locales;
  const isOneLocale = !isNode && !isReordered && locales.length === 1;
  writes.set({
    ...address,
    translations,
    operation,
    changedLocale: isOneLocale ? (locale as string) : null,
    isPlaced: present?.header.parentId !== parentId || present.header.orderKey !== orderKey,
  });
}

/** Whether a revert changes a node in the way an update or a translation does. */
function isRewritten({ present, wanted }: RevertedNode): boolean {
  if (present === undefined || wanted === undefined) return false;
  return (
    !present.hasSamePropertyText(wanted) ||
    present.header.archetype !== wanted.header.archetype ||
    present.header.ownerId !== wanted.header.ownerId ||
    differingLocales(present, wanted).length > 0
  );
}

function isImmutable(edit: EditScope, { present, workspace }: RevertedNode): boolean {
  const { nodeType } = (present as NodeRecord).header;
  return edit.schema(workspace).nodeType(nodeType)?.immutable === true;
}

/**
 * Whether the restored state must be validated as a write is; an invalid node may still get its path or position back.
 */
function isToBeChecked({ present, wanted }: RevertedNode): boolean {
  if (wanted === undefined) return false;
  return (
    present?.hasSamePropertyText(wanted) !== true ||
    present.header.nodeType !== wanted.header.nodeType ||
    present.header.archetype !== wanted.header.archetype ||
    present.header.parentId !== wanted.header.parentId
  );
}

function factsOf(
  edit: EditScope,
  { commit }: RevertRevisions,
  records: readonly RevisionRecord[],
): RevisionFacts {
  return {
    ...authorship(edit.who, commit),
    message: commit?.message ?? messageOf(records),
    isSystem: false,
  };
}

function messageOf(records: readonly RevisionRecord[]): string {
  const [first] = records as readonly [RevisionRecord, ...RevisionRecord[]];
  if (records.length > 1) return `Revert ${records.length} revisions from ${first.revision} on`;
  const { message } = first;
  const quoted = message.length > QUOTED_MESSAGE_MAX ? `${message.slice(0, QUOTED_MESSAGE_MAX)}…` : message;
  return `Revert "${quoted}"`;
}

function resultOf(edit: EditScope, facts: Partial<RevertResult>): RevertResult {
  const { head } = readBranchHead(edit.turn);
  return {
    success: true,
    revision: head.ms,
    head: formatRevision(head),
    conflicts: [],
    fast_forward: false,
    nodes_changed: 0,
    definitions_changed: 0,
    ...facts,
  };
}
