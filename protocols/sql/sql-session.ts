import { DECIDING_BRANCH } from '#runtime/content/built-in/deciding-nodes.ts';
import { assert } from '#runtime/base/assert.ts';
import { givenText } from '#runtime/sql-plan/given-values.ts';
import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import type { ChangeBySql, SqlChanged } from '#actors/branch/sql-messages.ts';
import type {
  CommitStatement,
  SessionStatement,
  UseBranchStatement,
} from '#runtime/sql-syntax/nodes/branch-nodes.ts';
import type { Statement } from '#runtime/sql-syntax/nodes/statement-nodes.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { afterwards, type Soon } from '#runtime/base/event-loop/soon.ts';
import { accessDecisions } from './access-decisions.ts';
import { enqueueStatement } from './bulk-statement.ts';
import { changeCommand, readQuery, type TransactionEnd, transactionCommand } from './sent-messages.ts';
import { requireFewCommands } from './session-limits.ts';
import type { ManagedBranchStatement, SqlSurface, StatementResult } from './session-ports.ts';
import { oneRow, type SessionRows } from './session-rows.ts';
import { type OpenTransaction, SessionState } from './session-state.ts';
import { SessionVariables } from './session-variables.ts';
import { readSettingsChange } from './settings-change.ts';
import { classOf, isBulk, isRead, isWrite, ownBranch } from './statement-class.ts';
import { errorOfStatement } from './statement-errors.ts';
import type { NumberedStatement, SqlText } from './sql-text.ts';
import { TextPart } from './text-part.ts';

/** As PostgreSQL says it. */
const abortedText = 'current transaction is aborted, commands ignored until end of transaction block';

/** A statement that only the session itself answers. */
type OwnStatement =
  | SessionStatement
  | UseBranchStatement
  | Extract<Statement, { readonly kind: 'show-branches' | 'show-current-branch' }>;

/**
 * A session of SQL: runs texts of statements in order and sends each statement to where it belongs. The first error ends the
 * text; what was written before it stays written.
 *
 * Statements of a transaction are collected and sent together at its end, as one command: it is atomic, and each of its
 * statements sees what those before it have written. What a transaction would do that is not committed is tried and undone, so its errors
 * and the rows of its last statement are real.
 *
 * It knows nothing of the protocol, which implements {@link SqlSurface}. A protocol without a lasting session makes one for
 * each request and calls {@link SqlSession.runRequest}; one with connections keeps it and calls {@link SqlSession.run}.
 *
 * @see docs/interface/sql.md#several-statements
 */
export class SqlSession<Answer> {
  readonly #surface: SqlSurface<Answer>;
  readonly #state: SessionState;
  readonly #variables = new SessionVariables();

  /** @param branch the branch that the session begins with */
  constructor(surface: SqlSurface<Answer>, branch: string) {
    this.#surface = surface;
    this.#state = new SessionState(branch);
  }

  /**
   * Runs a text with which the session ends: a transaction that is open at its end is undone. Reads of one branch that follow one
   * another are sent together.
   *
   * @returns the result of the last statement; of a text of reads within the present turn, if its answer is
   * @throws {ServiceError} the first error of a statement. It says which one it is about, and where
   */
  runRequest(text: SqlText): Soon<StatementResult<Answer>> {
    const [first] = text.statements;
    if (first === undefined || !isRead(first.statement)) return this.#runStatements(text);
    const group = this.#groupAt(text, 0);
    if (group.length < text.statements.length) return this.#runStatements(text);
    // Nothing to add to its errors: they are about the whole text already.
    const query = readQuery(new TextPart(text, group));
    return afterwards(this.#surface.read(this.#branchOfRead(first), query, true), (answer) => ({
      kind: 'read',
      answer,
    }));
  }

  /**
   * Runs a text of a session that goes on behind it, and gives the result of each statement. A transaction stays open until a later
   * text ends it. The result of a statement within one is that of trying all its statements so far.
   *
   * @throws {ServiceError} as {@link SqlSession.runRequest}. An open transaction is aborted then, as in PostgreSQL: each statement is
   *   refused with `TRANSACTION_ABORTED` until COMMIT or ROLLBACK, which both undo it
   */
  async *run(text: SqlText): AsyncGenerator<StatementResult<Answer>, void> {
    try {
      this.#admit(text);
      for (const numbered of text.statements) {
        this.#surface.checkWaiting();
        this.#requireSound(text, numbered);
        yield (await this.#runGroup(text, [numbered], true)) ?? (await this.#tryLast(text, numbered));
      }
    } catch (error) {
      this.abort();
      throw error;
    }
  }

  /** Aborts the open transaction: for an error behind which it cannot go on, such as one of reading a text. */
  abort(): void {
    this.#state.abort();
  }

  /** @throws {ServiceError} `TRANSACTION_ABORTED` for a statement that does not end the aborted transaction */
  #requireSound(text: SqlText, { index, statement: { kind } }: NumberedStatement): void {
    if (!this.#state.isAborted || kind === 'commit' || kind === 'rollback') return;
    throw errorOfStatement(new ServiceError('TRANSACTION_ABORTED', abortedText), text, undefined, index);
  }

  /** The result of the last statement of the open transaction. */
  async #tryLast(text: SqlText, last: NumberedStatement): Promise<StatementResult<Answer>> {
    const open = this.#state.transaction;
    assert(open !== undefined, 'a statement without a result is one of a transaction');
    const isReading = open.statements.every(({ statement }) => isRead(statement));
    const tried = isReading ? { ...open, statements: [last] } : open;
    const result = await this.#end(text, tried, 'undone', last.index, true);
    assert(result !== undefined, 'the transaction has a statement');
    return result;
  }

  /** Refuses a text before anything of it runs. */
  #admit(text: SqlText): void {
    requireFewCommands(text, this.#state.transaction !== undefined);
    if (text.statements.some(({ statement }) => isWrite(statement))) this.#surface.requireWriter();
  }

  async #runStatements(text: SqlText): Promise<StatementResult<Answer>> {
    const { statements } = text;
    this.#admit(text);
    let result: StatementResult<Answer> | undefined;
    for (let at = 0; at < statements.length; ) {
      this.#surface.checkWaiting();
      const group = this.#groupAt(text, at);
      at += group.length;
      result = await this.#runGroup(text, group, at === statements.length);
    }
    const tried = await this.#tryOpen(text, result === undefined);
    this.#state.endRequest();
    result ??= tried;
    assert(result !== undefined, 'a text has a statement, and each has a result');
    return result;
  }

  /** The statement at an index, with the reads behind it that can be sent with it. */
  #groupAt({ statements }: SqlText, index: number): readonly NumberedStatement[] {
    const first = statements[index] as NumberedStatement;
    let end = index + 1;
    if (this.#state.transaction === undefined && isRead(first.statement)) {
      const branch = this.#branchOfRead(first);
      const isLike = (next: NumberedStatement | undefined): boolean =>
        next !== undefined && isRead(next.statement) && this.#branchOfRead(next) === branch;
      while (isLike(statements[end])) end += 1;
    }
    return statements.slice(index, end);
  }

  /** A read names a branch within itself, if any. */
  #branchOfRead({ statement }: NumberedStatement): string {
    return classOf(statement) === 'read-access' ? DECIDING_BRANCH : this.#state.branch;
  }

  /** @returns undefined for a statement that became part of the transaction: its result comes with the end of that */
  async #runGroup(
    text: SqlText,
    group: readonly NumberedStatement[],
    isShown: boolean,
  ): Promise<StatementResult<Answer> | undefined> {
    const [numbered] = group as [NumberedStatement];
    const { index, statement } = numbered;
    if (isOwn(statement)) return ofRows(await this.#runOwn(text, statement, index));
    const part = new TextPart(text, group);
    return await this.#about(text, part, index, async () => {
      const branch = ownBranch(statement, text.parameters, text.source) ?? this.#state.branch;
      const open = this.#state.transaction;
      switch (classOf(statement)) {
        case 'show-branches':
        case 'change-branches':
          return ofRows(await this.#runOnBranches(text, numbered));
        case 'change-settings':
          return ofRows(await this.#changeSettings(text, statement));
        case 'read':
        case 'read-access':
          if (open !== undefined) return join(text, open, numbered, branch);
          return { kind: 'read', answer: await this.#surface.read(branch, readQuery(part), isShown) };
        default:
          if (open !== undefined) return join(text, open, numbered, branch);
          if (isBulk(statement))
            return ofRows(await enqueueStatement(this.#surface, text, part, numbered, branch));
          return {
            kind: 'changed',
            changed: await this.#change(part, branch, changeCommand(part), index),
          };
      }
    });
  }

  async #runOnBranches(text: SqlText, { index, statement }: NumberedStatement): Promise<SessionRows> {
    const { parameters, source } = text;
    if (this.#state.transaction !== undefined && isWrite(statement)) {
      const what = source.slice(statement.span.start, statement.span.end).split(/\s/, 1)[0]?.toUpperCase();
      const message = `${what} BRANCH cannot be part of a transaction. Use COMMIT or ROLLBACK first.`;
      throw sqlError(message, source, statement.span);
    }
    const given = { currentBranch: this.#state.branch, parameters, source };
    return await this.#surface.runOnBranches(statement as ManagedBranchStatement, given, index);
  }

  async #changeSettings({ parameters, source }: SqlText, statement: Statement): Promise<SessionRows> {
    const { change, column, span } = readSettingsChange(statement, parameters, source);
    if (this.#state.transaction !== undefined) {
      const message = `${change.name} cannot be part of a transaction. Use COMMIT or ROLLBACK first.`;
      throw sqlError(message, source, span);
    }
    return oneRow({ [column]: await this.#surface.changeSettings(change) });
  }

  async #runOwn(text: SqlText, statement: OwnStatement, index: number): Promise<SessionRows> {
    switch (statement.kind) {
      case 'commit':
        return await this.#commit(text, statement, index);
      case 'rollback':
        return await this.#rollBack(text, statement, index);
      default:
        return await this.#about(text, undefined, index, () => this.#answerOwn(text, statement));
    }
  }

  async #answerOwn(
    text: SqlText,
    statement: Exclude<OwnStatement, { readonly kind: 'commit' | 'rollback' }>,
  ): Promise<SessionRows> {
    switch (statement.kind) {
      case 'begin':
        this.#state.begin(text, statement.span);
        return oneRow({ message: 'Transaction started' });
      case 'set-variable':
        return this.#variables.set(statement, text);
      case 'show-variable':
        return this.#variables.show(statement, text);
      case 'use-branch':
        return await this.#useBranch(text, statement);
      default:
        return oneRow({ branch: this.#state.branch });
    }
  }

  async #useBranch(
    { parameters, source }: SqlText,
    { isLocal, name, span }: UseBranchStatement,
  ): Promise<SessionRows> {
    if (this.#state.transaction !== undefined) {
      const message =
        'The branch of a transaction is fixed at BEGIN. Use COMMIT or ROLLBACK before using another branch.';
      throw sqlError(message, source, span);
    }
    const branch = givenText(name, { parameters }, source);
    await this.#surface.requireBranch(branch);
    this.#state.useBranch(branch, isLocal);
    return oneRow({ command: 'SET', branch, scope: isLocal ? 'LOCAL' : 'SESSION' });
  }

  async #commit(text: SqlText, statement: CommitStatement, index: number): Promise<SessionRows> {
    if (this.#state.isAborted) return this.#endAborted();
    const [open, commit] = await this.#about(text, undefined, index, () => {
      const taken = this.#state.take(text, statement.span, 'commit');
      return [taken, commitInfo(text, statement)] as const;
    });
    await this.#end(text, open, { commit }, index, false);
    return oneRow({ message: 'Transaction committed' });
  }

  async #rollBack(text: SqlText, { span }: Statement, index: number): Promise<SessionRows> {
    if (this.#state.isAborted) return this.#endAborted();
    const open = await this.#about(text, undefined, index, () => this.#state.take(text, span, 'roll back'));
    await this.#end(text, open, 'undone', index, false);
    return oneRow({ message: 'Transaction rolled back' });
  }

  /** Ends the aborted transaction: what it would have done is not tried again. */
  #endAborted(): SessionRows {
    this.#state.discard();
    return oneRow({ message: 'Transaction rolled back' });
  }

  /** Tries the transaction that is still open. @param isShown whether the caller sees the result of its last statement */
  async #tryOpen(text: SqlText, isShown: boolean): Promise<StatementResult<Answer> | undefined> {
    const open = this.#state.transaction;
    if (open === undefined) return undefined;
    return await this.#end(text, open, 'undone', text.statements.length, isShown);
  }

  /** Sends a transaction. @returns the result of its last statement; undefined for one without statements */
  async #end(
    text: SqlText,
    { branch, statements }: OpenTransaction,
    end: TransactionEnd,
    step: number,
    isShown: boolean,
  ): Promise<StatementResult<Answer> | undefined> {
    if (statements.length === 0) return undefined;
    const part = new TextPart(text, statements);
    return await this.#about(text, part, undefined, async () => {
      // One that only reads is a query: it needs no turn of the branch, and whoever may read may send it.
      if (statements.every(({ statement }) => isRead(statement))) {
        return { kind: 'read', answer: await this.#surface.read(branch, readQuery(part), isShown) };
      }
      const command = transactionCommand(part, end);
      return { kind: 'changed', changed: await this.#change(part, branch, command, step) };
    });
  }

  /** Sends a command, and notes what it has decided about access. What has made no revision has decided nothing. */
  async #change(part: TextPart, branch: string, command: ChangeBySql, step: number): Promise<SqlChanged> {
    const changed = await this.#surface.change(branch, command, step);
    const { revision } = changed;
    if (revision === null) return changed;
    const decisions = accessDecisions(part.statements);
    if (decisions.length > 0) await this.#surface.noteDecisions(decisions, branch, revision);
    return changed;
  }

  /** Does something for statements: its errors say what they are about. */
  async #about<T>(
    text: SqlText,
    part: TextPart | undefined,
    index: number | undefined,
    work: () => Soon<T>,
  ): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw errorOfStatement(error, text, part, index);
    }
  }
}

function isOwn(statement: Statement): statement is OwnStatement {
  return classOf(statement) === 'session' || statement.kind === 'show-current-branch';
}

function ofRows(rows: SessionRows): { readonly kind: 'rows'; readonly rows: SessionRows } {
  return { kind: 'rows', rows };
}

/** Makes a statement a part of a transaction. @throws {ServiceError} `VALIDATION_FAILED` for another branch */
function join(
  { source }: SqlText,
  open: OpenTransaction,
  numbered: NumberedStatement,
  branch: string,
): undefined {
  if (branch !== open.branch) {
    const message =
      `A transaction is of one branch, which is '${open.branch}'. ` +
      `Use COMMIT or ROLLBACK before a statement for branch '${branch}'.`;
    throw sqlError(message, source, numbered.statement.span);
  }
  open.statements.push(numbered);
}

function commitInfo({ parameters, source }: SqlText, { actor, message }: CommitStatement): CommitInfo {
  const given = { parameters };
  return {
    ...(message === undefined ? {} : { message: givenText(message, given, source) }),
    ...(actor === undefined ? {} : { actor: givenText(actor, given, source) }),
  };
}
