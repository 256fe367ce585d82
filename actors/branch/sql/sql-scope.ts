import { actorName } from '#runtime/access/principal.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import type { BranchState } from '../branch-state.ts';

/** What VERSION() answers: the version of the interface, not of the build. */
const VERSION = `svc 0.3.36 on ${process.platform} (PostgreSQL-compatible)`;

const MICROSECONDS_PER_MILLISECOND = 1_000n;

/**
 * What the statements of one request may name.
 *
 * @param wallMs the time of its beginning, which is NOW() in all of them, in milliseconds since 1970
 */
export function statementScope(
  state: BranchState,
  caller: Caller,
  wallMs: number,
  parameters: readonly JsonValue[],
): StatementScope {
  return {
    workspaceNamed: (name, isBare) => {
      if (state.hasWorkspace(name)) return name;
      return isBare ? state.workspaceAliased(name) : undefined;
    },
    parameters,
    nowMicroseconds: microseconds(wallMs),
    user: actorName(caller.principal),
    branch: state.name,
    version: VERSION,
  };
}

/** A time of statements. @param wallMs in milliseconds since 1970 */
export function microseconds(wallMs: number): bigint {
  return BigInt(Math.floor(wallMs)) * MICROSECONDS_PER_MILLISECOND;
}
