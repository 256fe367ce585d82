import { isFlagDeclined } from '#runtime/content/resolution/declined-flag.ts';
import { wholeInSteps } from '#runtime/shard/value-in-steps.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import {
  decodeManualVersion,
  findManualVersion,
  writeManualVersion,
} from '#runtime/tree/manual-version-store.ts';
import { makeNodeRecordInSteps } from '#runtime/tree/record/make-record.ts';
import type { EditScope } from '../edit-scope.ts';
import type { CreateVersion, NodeWritten, RestoreVersion, VersionCreated } from '../messages.ts';
import { restoredState } from './restored-state.ts';

/** Longest note of a manual version, in characters. */
const NOTE_CHARACTERS_MAX = 10_000;

/**
 * Stores the current state of a node as a manual version. The node does not change, so this makes no revision.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`; `VALIDATION_FAILED` for a type with `versionable` false, a long note
 * @see messages.ts, CreateVersion
 */
export function* createVersion(
  edit: EditScope,
  command: CreateVersion,
): Generator<undefined, VersionCreated> {
  const { workspace, note } = command;
  const node = yield* edit.requireTarget(command, 'update');
  const { nodeType } = node.header;
  if (isFlagDeclined(nodeType, 'versionable', edit.schema(workspace))) {
    throw invalid(`Nodes of type '${nodeType}' keep no manual versions`);
  }
  if (note !== undefined && note.length > NOTE_CHARACTERS_MAX) {
    throw invalid(`A note has at most ${NOTE_CHARACTERS_MAX} characters`, { field: 'note' });
  }
  const version = yield* writeManualVersion(edit.turn, workspace, node, edit.who, note ?? null);
  return { version, revision: null };
}

/**
 * Restores properties, translations, node type and archetype from a manual version as a new state of the node. Name,
 * path, publication, owner and relations stay. The restored state must satisfy the current types.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`; `NOT_FOUND` for an unknown version; `VALIDATION_FAILED`
 * @see messages.ts, RestoreVersion
 */
export function* restoreVersion(edit: EditScope, command: RestoreVersion): Generator<undefined, NodeWritten> {
  const { workspace } = command;
  const old = yield* edit.requireTarget(command, 'update');
  const { id, path } = old.header;
  // It may have other values of properties that are hidden, or that may not be changed.
  edit.access.authorizeAllFields('update', workspace, old);
  const stored = findManualVersion(edit.turn, workspace, id, command.version);
  if (stored === undefined) throw noVersion(path, command.version);
  edit.requireMutable(workspace, old);
  const version = yield* decodeManualVersion(yield* wholeInSteps(edit.turn, stored));
  if (!edit.access.readsAll(workspace)) {
    const state = yield* makeNodeRecordInSteps(version.header, version.properties);
    if (!edit.access.mayRead(workspace, state)) throw noVersion(path, command.version);
  }
  const { properties } = version;
  const next = yield* restoredState(edit, workspace, old, version.header, properties);
  yield* edit.replaceInSteps(workspace, old, next);
  edit.audit(workspace, next, 'Restore', { version: command.version });
  const revision = edit.finish(command.commit, `Restored version ${command.version}: ${id}`) as string;
  return { node: yield* edit.renderInSteps(workspace, next), nodeId: id, revision };
}

function noVersion(path: string, version: number): ServiceError {
  return new ServiceError('NOT_FOUND', `Node '${path}' has no version ${version}`);
}
