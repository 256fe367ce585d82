import { crc32 } from 'node:zlib';
import { requireAdministrator } from '#runtime/access/policy.ts';
import { builtInNodeTypes } from '#runtime/content/built-in/node-types.ts';
import { builtInWorkspaces } from '#runtime/content/built-in/workspaces.ts';
import { planInitialStructure } from '#runtime/content/validation/plan-initial-structure.ts';
import { newSchemaRecord, replacedSchemaRecord } from '#runtime/content/definitions/schema-record.ts';
import { CommonTable, type QueryContext, type Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Row, TableReader } from '#runtime/shard/shard.ts';
import { readDefinition } from '#runtime/tree/schema-store.ts';
import { addPlanned, rootParent } from '../nodes/create-node.ts';
import { store } from './definitions.ts';
import type { EditScope } from '../edit-scope.ts';
import { settle } from '../long-answer.ts';
import type { BranchState } from '../branch-state.ts';
import type { BuiltIns, InstallBuiltIns, InstallWorkspace, ReadBuiltIns, Written } from '../messages.ts';
import { changedShippedTypes } from './shipped-types.ts';

/** Shipped versions that are installed on a branch, by name. */
interface InstalledBuiltIns {
  readonly nodeTypes: Readonly<Record<string, number>>;
  readonly workspaces: Readonly<Record<string, number>>;
}

const INSTALLED_KEY = 'built_ins';

/** The stored row: the installed versions and a checksum, which earlier builds did not write and ignore. */
interface InstalledRow extends InstalledBuiltIns {
  readonly crc?: number;
}

const rowKeys: ReadonlySet<string> = new Set([
  'nodeTypes',
  'workspaces',
  'crc',
] satisfies (keyof InstalledRow)[]);

function readInstalled(reader: TableReader): InstalledBuiltIns {
  const bytes = reader.get(CommonTable.meta, INSTALLED_KEY);
  return bytes === undefined ? { nodeTypes: {}, workspaces: {} } : decodeInstalled(bytes);
}

function encodeInstalled({ nodeTypes, workspaces }: InstalledBuiltIns): Buffer {
  const row: InstalledRow = { nodeTypes, workspaces, crc: crcOf({ nodeTypes, workspaces }) };
  return Buffer.from(JSON.stringify(row));
}

/** @throws {ServiceError} `DATA_CORRUPTED` */
function decodeInstalled(bytes: Uint8Array): InstalledBuiltIns {
  const row = parsedRow(bytes);
  const isSound =
    row !== undefined &&
    Object.keys(row).every((key) => rowKeys.has(key)) &&
    areVersions(row.nodeTypes) &&
    areVersions(row.workspaces) &&
    (row.crc === undefined || row.crc === crcOf(row));
  if (isSound) return row;
  throw new ServiceError('DATA_CORRUPTED', 'the record of the built-in types of a branch is damaged');
}

function parsedRow(bytes: Uint8Array): InstalledRow | undefined {
  try {
    return (JSON.parse(Buffer.from(bytes).toString()) ?? undefined) as InstalledRow | undefined;
  } catch {
    return undefined;
  }
}

function areVersions(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((version) => Number.isSafeInteger(version) && version > 0)
  );
}

function crcOf({ nodeTypes, workspaces }: InstalledBuiltIns): number {
  return crc32(JSON.stringify([nodeTypes, workspaces]));
}

/**
 * Verifies a row of a branch's own small state if it is the record of its built-in types: by its checksum, or by its
 * fields if an earlier build wrote it.
 *
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export function verifyBuiltInsRow({ key, value }: Row): void {
  if (key === INSTALLED_KEY) decodeInstalled(value);
}

/** Whether this build ships a version that is not installed on the branch. */
export function builtInsPending(reader: TableReader): boolean {
  const { nodeTypes, workspaces } = readInstalled(reader);
  return (
    builtInNodeTypes.some(({ definition, version }) => (nodeTypes[definition.name] ?? 0) < version) ||
    builtInWorkspaces.some(({ name, version }) => (workspaces[name] ?? 0) < version)
  );
}

/** The built-ins of this build that the branch lacks, or has only in part. @see messages.ts, ReadBuiltIns */
export function readBuiltIns(
  _state: BranchState,
  context: QueryContext,
  _query: ReadBuiltIns,
): BuiltIns | Promise<BuiltIns> {
  requireAdministrator(context.caller.policy, context.caller.principal);
  const isPending = builtInsPending(context.view);
  const { nodeTypes } = readInstalled(context.view);
  return settle(context, function* (reader) {
    const changed = yield* changedShippedTypes(() => reader);
    // A type that was never installed has not been changed.
    return { isPending, changedTypes: changed.filter((name) => Object.hasOwn(nodeTypes, name)) };
  });
}

/**
 * Updates the branch to the shipped built-ins as one system revision: types with a higher shipped version are
 * rewritten, and missing initial nodes are created. Other changes by users stay. If the command forces it, shipped
 * types that lack something are rewritten too.
 *
 * @see messages.ts, InstallBuiltIns; docs/interface/repositories.md#updates-of-built-in-resources
 */
export function* installBuiltIns(edit: EditScope, command: InstallBuiltIns): Generator<undefined, Written> {
  requireAdministrator(edit.turn.caller.policy, edit.turn.caller.principal);
  const installed = readInstalled(edit.turn);
  const changed = command.force === true ? yield* changedShippedTypes(() => edit.turn) : [];
  const nodeTypes: Record<string, number> = { ...installed.nodeTypes };
  const workspaces: Record<string, number> = { ...installed.workspaces };
  for (const { definition, version } of builtInNodeTypes) {
    if ((nodeTypes[definition.name] ?? 0) >= version && !changed.includes(definition.name)) continue;
    nodeTypes[definition.name] = version;
    const previous = readDefinition(edit.turn, 'node_type', definition.name);
    if (previous === undefined)
      store(edit, 'node_type', newSchemaRecord(definition, edit.turn.newId(), edit.now), 'added');
    else store(edit, 'node_type', replacedSchemaRecord(previous, definition, edit.now), 'modified');
  }
  yield* edit.writer.reindex();
  for (const { name, version } of builtInWorkspaces) {
    if ((workspaces[name] ?? 0) >= version) continue;
    workspaces[name] = version;
    yield* addInitialNodes(edit, name);
    yield;
  }
  edit.turn.put(CommonTable.meta, INSTALLED_KEY, encodeInstalled({ nodeTypes, workspaces }));
  return {
    revision: edit.finish({ isSystem: true, actor: 'system' }, 'Install built-in types and workspaces'),
  };
}

/**
 * Marks shipped types as not installed if they are missing because the head was moved to before their installation.
 * They are installed again with the next write to the branch.
 */
export function forgetMissingBuiltIns(turn: Turn): void {
  const { nodeTypes, workspaces } = readInstalled(turn);
  const isThere = (name: string): boolean => readDefinition(turn, 'node_type', name) !== undefined;
  const kept = Object.entries(nodeTypes).filter(([name]) => isThere(name));
  if (kept.length === Object.keys(nodeTypes).length) return;
  // Initial nodes were created in the same revisions as the types.
  const row = { nodeTypes: Object.fromEntries(kept), workspaces: kept.length === 0 ? {} : workspaces };
  turn.put(CommonTable.meta, INSTALLED_KEY, encodeInstalled(row));
}

/**
 * Creates the initial structure of a workspace and updates its index rows to its pins, after the workspace was created
 * or replaced.
 *
 * @see messages.ts, InstallWorkspace; docs/interface/repositories.md#workspaces
 */
export function* installWorkspace(edit: EditScope, command: InstallWorkspace): Generator<undefined, Written> {
  requireAdministrator(edit.turn.caller.policy, edit.turn.caller.principal);
  yield* addInitialNodes(edit, command.workspace);
  yield* edit.writer.reindex();
  return {
    revision: edit.finish(
      { isSystem: true, actor: 'system' },
      `Create initial structure of ${command.workspace}`,
    ),
  };
}

function* addInitialNodes(edit: EditScope, name: string): Generator<undefined, void> {
  const { initial_structure: structure } = edit.workspace(name);
  for (const node of planInitialStructure(structure, edit.schema(name)))
    yield* addPlanned(edit, name, rootParent, node);
}
