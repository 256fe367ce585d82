import type { Relation } from '#runtime/content/content-node.ts';
import { decodeRevisionDescending, REVISION_BYTES, revisionMax } from '#runtime/content/revision.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { storedText } from '#runtime/shard/binary-key.ts';
import { BranchTable, pathVersionsUpTo } from '#runtime/shard/key-layout.ts';
import { StateAt } from '#runtime/tree/state-at.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import type { EditScope } from '../edit-scope.ts';
import { stateUpTo } from '../history/known-node.ts';
import type { AddRelation, RelationRemoved, RemoveRelation, Written } from '../messages.ts';
import type { NodePlace } from '../read-messages.ts';

/** Most outgoing relations of one node; they are stored in the node and rewritten with every write of it. */
export const RELATIONS_MAX = 4_096;

/** Longest relation type, in UTF-8 bytes. */
const RELATION_TYPE_BYTES_MAX = 255;

const controlCharacters = /[\x00-\x1f\x7f]/;

/**
 * Adds a relation from a node to another one in any workspace. There is one relation for a source, target and type:
 * adding it again updates the weight, and with the same weight changes nothing.
 *
 * A relation is part of its source. When the target is deleted, the relation stays there but is not shown, until it is
 * removed or its room is needed for others. A target that is moved or renamed stays related, since relations name ids.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND` for the source or the target, `WORKSPACE_NOT_FOUND`,
 *   `PERMISSION_DENIED`, `VALIDATION_FAILED`
 * @see messages.ts, AddRelation
 */
export function* addRelation(edit: EditScope, command: AddRelation): Generator<undefined, Written> {
  const { workspace, targetWorkspace, targetPath, relationType, weight } = command;
  const source = yield* edit.requireTarget(command, 'relate');
  const target = yield* edit.requireNode(targetWorkspace, { path: targetPath }, 'read');
  const node = { workspace: targetWorkspace, record: target };
  if (!(yield* putRelation(edit, workspace, source, node, relationType, weight))) return { revision: null };
  return { revision: edit.finish(command.commit, `Related node: ${source.header.id}`) };
}

/**
 * Relates a node to another one, without ending the revision.
 *
 * @param source the caller may relate it
 * @param target the caller may read it
 * @returns false: the relation is there already, with this weight
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function* putRelation(
  edit: EditScope,
  workspace: string,
  source: NodeRecord,
  target: { readonly workspace: string; readonly record: NodeRecord },
  relationType: string,
  weight: number | null,
): Generator<undefined, boolean> {
  requireRelationType(relationType);
  if (weight !== null && !Number.isFinite(weight))
    throw invalid('weight must be a number', { field: 'weight' });
  const { header } = target.record;
  const relation: Relation = {
    target: header.id,
    workspace: target.workspace,
    target_node_type: header.nodeType,
    relation_type: relationType,
    weight,
  };
  const next = withRelation(source.header.relations, relation, (there, id) => edit.head.has(there, id));
  if (next === null) return false;
  yield* writeRelations(edit, workspace, source, next, { added: relationType, target_id: relation.target });
  return true;
}

/**
 * The relations with one added, or with its weight updated if it exists. If there is no room for it, relations to
 * deleted nodes are removed.
 *
 * @param isThere whether a node exists
 * @returns null when nothing would change
 * @throws {ServiceError} `VALIDATION_FAILED` above {@link RELATIONS_MAX}
 */
export function withRelation(
  relations: readonly Relation[],
  relation: Relation,
  isThere: (workspace: string, id: string) => boolean,
): readonly Relation[] | null {
  const index = relations.findIndex((present) => isSameEdge(present, relation));
  const present = relations[index];
  if (present !== undefined) {
    const isSame =
      present.weight === relation.weight && present.target_node_type === relation.target_node_type;
    return isSame ? null : relations.with(index, relation);
  }
  const kept =
    relations.length < RELATIONS_MAX
      ? relations
      : relations.filter(({ target, workspace }) => isThere(workspace, target));
  if (kept.length >= RELATIONS_MAX) throw invalid(`A node has at most ${RELATIONS_MAX} relations`);
  return [...kept, relation];
}

/**
 * Removes the relations from a node to a target: all of them, or those of one type. A deleted target is found by its
 * last path.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND` for the source, `PERMISSION_DENIED`
 * @see messages.ts, RemoveRelation
 */
export function* removeRelation(
  edit: EditScope,
  command: RemoveRelation,
): Generator<undefined, RelationRemoved> {
  const { workspace, targetWorkspace, targetPath, relationType } = command;
  const source = yield* edit.requireTarget(command, 'unrelate');
  const id = yield* knownTarget(edit, targetWorkspace, { path: targetPath });
  const isRemoved =
    id !== undefined &&
    (yield* dropRelations(edit, workspace, source, { workspace: targetWorkspace, id }, relationType));
  if (!isRemoved) return { removed: false, revision: null };
  return { removed: true, revision: edit.finish(command.commit, `Unrelated node: ${source.header.id}`) };
}

/**
 * Removes the relations from a node to a target, without ending the revision.
 *
 * @param source the caller may unrelate it
 * @param target see {@link knownTarget}
 * @param relationType undefined: those of every type
 * @returns whether there were any
 */
export function* dropRelations(
  edit: EditScope,
  workspace: string,
  source: NodeRecord,
  target: { readonly workspace: string; readonly id: string },
  relationType: string | undefined,
): Generator<undefined, boolean> {
  const { relations } = source.header;
  const kept = relations.filter(
    (relation) =>
      relation.target !== target.id ||
      relation.workspace !== target.workspace ||
      (relationType !== undefined && relation.relation_type !== relationType),
  );
  if (kept.length === relations.length) return false;
  const details = { removed: relationType ?? null, target_id: target.id };
  yield* writeRelations(edit, workspace, source, kept, details);
  return true;
}

function* writeRelations(
  edit: EditScope,
  workspace: string,
  source: NodeRecord,
  relations: readonly Relation[],
  details: { readonly [key: string]: string | null },
): Generator<undefined, void> {
  const next = yield* edit.nextInSteps(source, { relations });
  yield* edit.replaceInSteps(workspace, source, next);
  edit.audit(workspace, next, 'Update', { relation: details });
}

function isSameEdge(a: Relation, b: Relation): boolean {
  return a.target === b.target && a.workspace === b.workspace && a.relation_type === b.relation_type;
}

function requireRelationType(relationType: string): void {
  if (
    relationType.trim() === '' ||
    Buffer.byteLength(relationType) > RELATION_TYPE_BYTES_MAX ||
    controlCharacters.test(relationType) ||
    !relationType.isWellFormed()
  ) {
    throw invalid(`A relation type is 1 to ${RELATION_TYPE_BYTES_MAX} bytes without control characters`, {
      field: 'relationType',
    });
  }
}

/**
 * Id of a node, or of a deleted one; a path names the node that is there, or else the one that was there last. One that the
 * caller may not read counts as missing: the answer must not tell that it exists.
 */
export function* knownTarget(
  edit: EditScope,
  workspace: string,
  place: NodePlace,
): Generator<undefined, string | undefined> {
  const id =
    'id' in place
      ? place.id
      : (edit.head.idAt(workspace, place.path) ?? deletedAt(edit, workspace, place.path));
  if (id === undefined || edit.access.readsAll(workspace)) return id;
  const present = yield* edit.head.byIdInSteps(workspace, id);
  if (present !== undefined) return edit.access.mayRead(workspace, present) ? id : undefined;
  const last = yield* stateUpTo(edit.turn, workspace, id, readBranchHead(edit.turn).head);
  return last !== undefined && edit.access.mayRead(workspace, last) ? id : undefined;
}

function deletedAt(edit: EditScope, workspace: string, path: string): string | undefined {
  const line = new StateAt(edit.turn, readBranchHead(edit.turn).head);
  for (const { key, value } of edit.turn.range(
    BranchTable.pathVersions,
    pathVersionsUpTo(workspace, path, revisionMax),
  )) {
    if (value.length === 0) continue;
    const written = decodeRevisionDescending(key, key.length - REVISION_BYTES);
    if (!line.belongs(written)) continue;
    const id = storedText(value);
    return edit.head.has(workspace, id) ? undefined : id;
  }
  return undefined;
}
