import type { Turn } from '#runtime/commit/behaviour.ts';
import { builtInWorkspaces, type BuiltInWorkspace } from '#runtime/content/built-in/workspaces.ts';
import { parseWorkspaceDefinition } from '#runtime/content/definitions/workspace-definition.ts';
import type {
  BuiltInsInstalled,
  BuiltInUpdate,
  InstallBuiltInWorkspaces,
  RestoreBuiltInWorkspaces,
} from './messages.ts';
import type { WorkspaceRow } from './repository-tables.ts';

/** Access to the rows, provided by the actor. */
export interface WorkspaceRows {
  read(name: string): WorkspaceRow | undefined;
  write(row: WorkspaceRow): void;
}

/**
 * Compares the shipped workspaces with the workspaces of the repository.
 *
 * @param read reads a row by name
 */
export function pendingBuiltIns(read: (name: string) => WorkspaceRow | undefined): readonly BuiltInUpdate[] {
  return builtInWorkspaces.flatMap((shipped) => {
    const row = read(shipped.name);
    const current = row?.builtIn;
    if (row !== undefined && current !== undefined && current.version >= shipped.version) return [];
    return [
      {
        name: shipped.name,
        currentVersion: current?.version ?? null,
        shippedVersion: shipped.version,
        // A workspace of this name that was created before it was shipped counts as changed.
        isChanged: row !== undefined && (current === undefined || current.isChanged),
      },
    ];
  });
}

/**
 * Writes the shipped workspaces that are newer than the workspaces of the repository.
 *
 * @param branch the branch new workspaces are configured for
 * @returns the written and the skipped workspaces
 */
export function installBuiltIns(
  { names, force = false }: InstallBuiltInWorkspaces,
  rows: WorkspaceRows,
  branch: string,
  turn: Turn,
): BuiltInsInstalled {
  const installed: string[] = [];
  const skipped: string[] = [];
  for (const { name, isChanged } of pendingBuiltIns((each) => rows.read(each))) {
    if (names !== undefined && !names.includes(name)) continue;
    if (isChanged && !force) {
      skipped.push(name);
      continue;
    }
    const shipped = builtInWorkspaces.find((each) => each.name === name) as BuiltInWorkspace;
    rows.write(rowOf(shipped, rows.read(name), branch, turn));
    installed.push(name);
  }
  return { installed, skipped };
}

/**
 * Writes the named shipped workspaces, unless they are as shipped.
 *
 * @param branch as in {@link installBuiltIns}
 */
export function restoreBuiltIns(
  { names }: RestoreBuiltInWorkspaces,
  rows: WorkspaceRows,
  branch: string,
  turn: Turn,
): BuiltInsInstalled {
  const installed: string[] = [];
  for (const shipped of builtInWorkspaces) {
    if (!names.includes(shipped.name)) continue;
    const row = rows.read(shipped.name);
    const current = row?.builtIn;
    if (current?.isChanged === false && current.version >= shipped.version) continue;
    rows.write(rowOf(shipped, row, branch, turn));
    installed.push(shipped.name);
  }
  return { installed, skipped: [] };
}

function rowOf(
  shipped: BuiltInWorkspace,
  previous: WorkspaceRow | undefined,
  branch: string,
  turn: Turn,
): WorkspaceRow {
  const now = new Date(turn.wallMs).toISOString();
  const parsed = parseWorkspaceDefinition(shipped.name, shipped.definition, previous?.workspace ?? null, now);
  const config = previous?.workspace.config ?? { ...parsed.config, default_branch: branch };
  return { workspace: { ...parsed, config }, builtIn: { version: shipped.version, isChanged: false } };
}
