import type { BranchCommand } from '#actors/branch/messages.ts';
import type { SqlChanged } from '#actors/branch/sql-messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { administrator, type BranchFixture } from './branch-fixture.ts';

/** How statements are run. */
export interface ChangeSetup {
  readonly caller?: Caller;
  readonly parameters?: readonly JsonValue[];
  readonly isTransaction?: boolean;
  readonly dryRun?: boolean;
  readonly commit?: { readonly message?: string; readonly actor?: string };
}

/** What statements have answered, with their rows read. */
export interface Changed extends Omit<SqlChanged, 'rows'> {
  readonly rows: readonly Record<string, JsonValue>[];
}

/** The command that runs statements on a branch. */
export function changeCommand(sql: string, setup: Omit<ChangeSetup, 'caller'> = {}): BranchCommand {
  const { commit, dryRun, isTransaction = false, parameters = [] } = setup;
  return {
    type: 'ChangeBySql',
    sql,
    parameters,
    isTransaction,
    ...(commit === undefined ? {} : { commit }),
    ...(dryRun === undefined ? {} : { dryRun }),
  };
}

/** Runs statements that write on a branch. */
export async function change(
  branch: BranchFixture,
  sql: string,
  { caller = administrator, ...setup }: ChangeSetup = {},
): Promise<Changed> {
  const result = (await branch.command(changeCommand(sql, setup), caller)) as unknown as SqlChanged;
  return { ...result, rows: JSON.parse(result.rows) };
}

/** As {@link change}, within one transaction. */
export function transact(branch: BranchFixture, sql: string, setup: ChangeSetup = {}): Promise<Changed> {
  return change(branch, sql, { ...setup, isTransaction: true });
}
