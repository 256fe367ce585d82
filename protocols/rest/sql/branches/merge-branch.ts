import type {
  MergeBranch,
  MergeResolution,
  MergeResult,
  ResolveMerge,
} from '#actors/branch/merge-messages.ts';
import type { LockPrecondition } from '#actors/locks/messages.ts';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import { parseLocale } from '#runtime/content/translations/locale.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ConflictResolution, MergeBranchStatement } from '#runtime/sql-syntax/nodes/branch-nodes.ts';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import { branchesOfMerge } from '../../versioning/branch-lookup.ts';
import type { BranchStatementContext } from '../ports.ts';
import { oneRow, type SessionRows } from '#protocols/sql/session-rows.ts';
import { optionalTextOf, refused, textOf } from './statement-access.ts';

/**
 * Runs MERGE BRANCH. Conflicts without a resolution are an error, and then nothing is written.
 *
 * @throws {ServiceError} `CONFLICT` for conflicts, with `details.conflicts`, their number; `VALIDATION_FAILED` for a
 *   fast-forward of branches that have diverged, and for a resolution that is none; as {@link branchesOfMerge}
 * @see docs/interface/sql-branches.md#merging
 */
export async function mergeBranch(
  statement: MergeBranchStatement,
  context: BranchStatementContext,
): Promise<SessionRows> {
  const sourceName = textOf(context, statement.source);
  const targetName = textOf(context, statement.target);
  const command = commandOf(statement, context, sourceName);
  const { delivery, lock, repository, router } = context;
  const { source, target } = await branchesOfMerge(
    context,
    delivery.caller,
    repository,
    sourceName,
    targetName,
  );
  const sent: (MergeBranch | ResolveMerge) & LockPrecondition = {
    ...command,
    source: source.actor,
    ...(lock === undefined ? {} : { lock }),
  };
  const result = (await router.command(target.actor, sent, delivery)) as MergeResult;
  if (!result.success) throw conflicting(result, sourceName, targetName);
  const { fast_forward, head, nodes_changed, revision } = result;
  const row = { result: 'Merge completed', revision, fast_forward, nodes_changed };
  return { ...oneRow(row), revision: head };
}

function commandOf(
  statement: MergeBranchStatement,
  context: BranchStatementContext,
  sourceName: string,
): Omit<MergeBranch, 'source'> | Omit<ResolveMerge, 'source'> {
  const { resolutions, strategy } = statement;
  const message = optionalTextOf(context, statement.message);
  const shared = { sourceName, dryRun: false, ...(message === undefined ? {} : { commit: { message } }) };
  if (resolutions.length === 0) {
    const named = strategy === 'fast-forward' ? 'FastForward' : 'ThreeWay';
    return { type: 'MergeBranch', strategy: named, ...shared };
  }
  if (strategy === 'fast-forward') {
    throw refused(context, 'RESOLVE CONFLICTS is for a three-way merge', statement.span);
  }
  return {
    type: 'ResolveMerge',
    resolutions: resolutions.map((each) => resolutionOf(each, context)),
    ...shared,
  };
}

function resolutionOf(
  { decision, locale, nodeId }: ConflictResolution,
  context: BranchStatementContext,
): MergeResolution {
  const named = optionalTextOf(context, locale);
  return {
    nodeId: textOf(context, nodeId),
    ...(named === undefined ? {} : { locale: parseLocale(named) }),
    ...decided(decision, context),
  };
}

function decided(
  decision: ConflictResolution['decision'],
  context: BranchStatementContext,
): Pick<MergeResolution, 'type' | 'properties'> {
  switch (decision.kind) {
    case 'keep-ours':
    case 'keep-theirs':
      return { type: decision.kind };
    case 'delete':
      return { type: 'manual', properties: null };
    case 'use-value':
      return { type: 'manual', properties: objectOf(decision.json, context) };
  }
}

function objectOf(node: GivenText, context: BranchStatementContext): JsonObject {
  let value: JsonValue;
  try {
    value = parseExactJson(textOf(context, node)) as JsonValue;
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw refused(context, `Invalid JSON literal: ${(error as Error).message}`, node.span);
  }
  if (!isJsonObject(value)) throw refused(context, 'USE_VALUE takes a JSON object', node.span);
  return value;
}

function conflicting({ conflicts }: MergeResult, source: string, target: string): ServiceError {
  const [from, into] = [quoted(source), quoted(target)];
  const text =
    `Merge has ${conflicts.length} conflict(s). Use SHOW CONFLICTS FOR MERGE ${from} INTO ${into} to view details, ` +
    `then MERGE BRANCH ${from} INTO ${into} RESOLVE CONFLICTS (('<node_id>', KEEP_OURS), …) to settle them`;
  return new ServiceError('CONFLICT', text, { details: { conflicts: conflicts.length } });
}

function quoted(name: string): string {
  return `'${name.replaceAll("'", "''")}'`;
}
