import type { AccessDecision } from '#protocols/sql/access-decisions.ts';
import type {
  ChangeBySql,
  MatchBySql,
  MatchedNodes,
  RunSql,
  SqlChanged,
} from '#actors/branch/sql-messages.ts';
import type {
  BranchStatementInput,
  BulkStatement,
  EnqueuedStatement,
  ManagedBranchStatement,
  SqlSurface,
} from '#protocols/sql/session-ports.ts';
import { oneRow, type SessionRows } from '#protocols/sql/session-rows.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { SettingsChange } from '#protocols/sql/settings-change.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** What a session has sent. */
export interface Sent {
  readonly to: string;
  readonly kind: 'read' | 'change' | 'match' | 'enqueue' | 'branches' | 'settings' | 'decision';
  readonly sql: string;
  readonly step?: number;
  readonly message?: unknown;
}

/** A surface that keeps what a session sends over it, and answers as it is told. */
export class RecordingSurface implements SqlSurface<string> {
  readonly sent: Sent[] = [];
  /** Names of branches that exist. */
  readonly branches: Set<string> = new Set(['main', 'dev']);
  isReadOnly = false;
  isGone = false;
  /** Decides for each text whether it fails. */
  fails: (sql: string) => ServiceError | undefined = () => undefined;

  checkWaiting(): void {
    if (this.isGone) throw new ServiceError('REQUEST_CANCELLED');
  }

  requireWriter(): void {
    if (this.isReadOnly) throw new ServiceError('UNAUTHORIZED');
  }

  requireBranch(branch: string): void {
    if (!this.branches.has(branch))
      throw new ServiceError('BRANCH_NOT_FOUND', `Branch '${branch}' not found`);
  }

  read(to: string, message: RunSql, isShown: boolean): string {
    this.#keep({ to, kind: 'read', sql: message.sql, message });
    return isShown ? `rows of ${message.sql}` : 'unseen';
  }

  async change(to: string, message: ChangeBySql, step: number): Promise<SqlChanged> {
    this.#keep({ to, kind: 'change', sql: message.sql, step, message });
    const rows = JSON.stringify([{ affected_rows: 1, path: '/a', revision: '5-0' }]);
    return { revision: '9-0', columns: ['affected_rows'], rows, rowCount: 1 };
  }

  async noteDecisions(decisions: readonly AccessDecision[], branch: string, revision: string): Promise<void> {
    for (const { action, subject, details } of decisions) {
      const message = { ...details, branch, revision };
      this.sent.push({ to: 'tenant', kind: 'decision', sql: `${action} ${subject}`, message });
    }
  }

  async match(to: string, message: MatchBySql): Promise<MatchedNodes> {
    this.#keep({ to, kind: 'match', sql: message.sql, message });
    return { ids: [], revision: parseRevision('7-0') };
  }

  async enqueue(to: string, message: BulkStatement, step: number): Promise<EnqueuedStatement> {
    this.#keep({ to, kind: 'enqueue', sql: message.sql, step, message });
    return { jobId: 'j1', ...(message.restored === undefined ? {} : { restored: message.restored }) };
  }

  async refuse(refusal: unknown): Promise<never> {
    throw refusal;
  }

  async changeSettings(change: SettingsChange): Promise<JsonValue> {
    this.#keep({ to: 'tenant', kind: 'settings', sql: change.name, message: change });
    return true;
  }

  async runOnBranches(
    statement: ManagedBranchStatement,
    { currentBranch }: BranchStatementInput,
    step: number,
  ): Promise<SessionRows> {
    this.#keep({ to: currentBranch, kind: 'branches', sql: statement.kind, step });
    return oneRow({ result: statement.kind });
  }

  #keep(sent: Sent): void {
    this.sent.push(sent);
    const error = this.fails(sent.sql);
    if (error !== undefined) throw error;
  }
}
