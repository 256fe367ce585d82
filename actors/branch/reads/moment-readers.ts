import type { Revision } from '#runtime/content/revision.ts';
import type { ResolvedSource } from '#runtime/content/resolution/schema-resolver.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { BranchState } from '../branch-state.ts';

/**
 * The schema a query renders with: types as the workspace pins them, or at an earlier revision the types of that
 * revision. Use it within the same turn of the event loop.
 *
 * @throws {ServiceError} `WORKSPACE_NOT_FOUND`
 */
export function schemaAt(
  state: BranchState,
  reader: TableReader,
  workspace: string,
  at: Revision | undefined,
): ResolvedSource {
  const pins = state.workspace(workspace).config.node_type_pins;
  return state.querySchemas.get(reader, at === undefined ? { pins } : { at, pins });
}
