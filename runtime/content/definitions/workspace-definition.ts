import { KnownNames } from '#runtime/errors/known-names.ts';
import { parseRevision } from '../revision.ts';
import { DefinitionReader, missingField, wrongType } from './definition-reader.ts';
import { type InitialStructure, parseInitialStructure } from './initial-structure.ts';
import type { JsonValue } from '../values/json-value.ts';
import { requireBranchName, requireWorkspaceName } from '../names.ts';

/** The most node types one workspace may list or pin. */
export const WORKSPACE_TYPES_MAX = 10_000;

/** Settings of a workspace. */
export interface WorkspaceConfig {
  readonly default_branch: string;
  /** Node type name to the revision whose definition applies in this workspace; null is the newest. */
  readonly node_type_pins: Readonly<Record<string, string | null>>;
}

/**
 * A workspace: a tree of nodes within a branch. Keys are those of the wire format. @see
 * docs/interface/repositories.md#workspaces
 */
export interface Workspace {
  readonly name: string;
  readonly description: string | null;
  /** Types of its nodes; empty or `*` allows any. */
  readonly allowed_node_types: readonly string[];
  /** Types of nodes at the root, which must be in the other list too; empty or `*` allows any. */
  readonly allowed_root_node_types: readonly string[];
  readonly depends_on: readonly string[];
  readonly initial_structure: InitialStructure | null;
  /** ISO 8601. */
  readonly created_at: string;
  readonly updated_at: string;
  readonly config: WorkspaceConfig;
}

const configNames: Readonly<Record<keyof WorkspaceConfig, true>> = {
  default_branch: true,
  node_type_pins: true,
};

/** Fields of the settings of a workspace; `node_type_refs` is an alias. */
export const workspaceConfigFields: KnownNames = new KnownNames(Object.keys(configNames), ['node_type_refs']);

type GivenField = Exclude<keyof Workspace, 'name' | 'created_at' | 'updated_at'>;

const givenNames: Readonly<Record<GivenField, true>> = {
  description: true,
  allowed_node_types: true,
  allowed_root_node_types: true,
  depends_on: true,
  initial_structure: true,
  config: true,
};

/** Fields of the definition of a workspace. */
export const workspaceFields: KnownNames = new KnownNames(Object.keys(givenNames), [
  'name',
  'created_at',
  'updated_at',
]);

/** The default settings of a workspace. */
const defaultConfig: WorkspaceConfig = Object.freeze({
  default_branch: 'main',
  node_type_pins: Object.freeze({}),
});

/**
 * Reads the body of `PUT …/{name}`. The name in the path takes precedence over the body. Settings the body leaves out
 * are unchanged.
 *
 * @param name from the path
 * @param previous the workspace this replaces, if any
 * @param now ISO 8601
 * @throws {ServiceError} `UNPROCESSABLE_BODY` for a missing list or a wrong type, `VALIDATION_FAILED`, also for an
 *   unknown field
 * @see docs/interface/repositories.md#workspaces
 */
export function parseWorkspaceDefinition(
  name: string,
  json: unknown,
  previous: Workspace | null,
  now: string,
): Workspace {
  requireWorkspaceName(name);
  const reader = DefinitionReader.whole(json);
  const config = reader.raw('config');
  const workspace: Workspace = Object.freeze({
    name,
    description: reader.optionalString('description'),
    allowed_node_types: requiredTypes(reader, 'allowed_node_types'),
    allowed_root_node_types: requiredTypes(reader, 'allowed_root_node_types'),
    depends_on: reader.strings('depends_on'),
    initial_structure: parseInitialStructure(reader),
    created_at: previous?.created_at ?? now,
    updated_at: now,
    config:
      config === undefined ? (previous?.config ?? defaultConfig) : parseWorkspaceConfig(config, 'config'),
  });
  reader.refuseOthers(workspaceFields);
  return workspace;
}

/**
 * Reads the body of `PUT …/{name}/config`, or the `config` of a definition. `node_type_refs` is an alias of
 * `node_type_pins`.
 *
 * @param at its place in the body
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`, `INVALID_BRANCH_NAME`,
 *   `INVALID_REVISION_NUMBER`
 */
export function parseWorkspaceConfig(json: unknown, at = ''): WorkspaceConfig {
  const reader = DefinitionReader.whole(json, at);
  const key = reader.raw('node_type_pins') === undefined ? 'node_type_refs' : 'node_type_pins';
  const pins = Object.entries(reader.optionalObject(key) ?? {});
  if (pins.length > WORKSPACE_TYPES_MAX) throw reader.badValue(key, `at most ${WORKSPACE_TYPES_MAX} pins`);
  const config: WorkspaceConfig = Object.freeze({
    default_branch: requireBranchName(
      reader.optionalString('default_branch') ?? defaultConfig.default_branch,
    ),
    node_type_pins: Object.freeze(
      Object.fromEntries(pins.map(([type, revision]) => [type, readPin(reader, key, type, revision)])),
    ),
  });
  reader.refuseOthers(workspaceConfigFields);
  return config;
}

function readPin(reader: DefinitionReader, key: string, type: string, revision: JsonValue): string | null {
  if (revision === null) return null;
  if (typeof revision !== 'string') {
    throw wrongType(`${reader.place(key)}.${type}`, 'a revision string or null', revision);
  }
  parseRevision(revision);
  return revision;
}

function requiredTypes(reader: DefinitionReader, key: string): readonly string[] {
  if (reader.raw(key) === undefined) throw missingField(reader.place(key));
  const types = reader.strings(key);
  if (types.length > WORKSPACE_TYPES_MAX) throw reader.badValue(key, `at most ${WORKSPACE_TYPES_MAX} types`);
  return types;
}
