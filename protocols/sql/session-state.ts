import { assert } from '#runtime/base/assert.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import type { Span } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import type { NumberedStatement, SqlText } from './sql-text.ts';

/** An open transaction. */
export interface OpenTransaction {
  /** The branch of all its statements. */
  readonly branch: string;
  /** Statements of it so far. They are sent together when it ends. */
  readonly statements: NumberedStatement[];
}

/**
 * What a session keeps between two statements: the branch that it uses, and the open transaction.
 *
 * - The branch is the local one, which USE LOCAL BRANCH set, up to the end of the transaction or of the request; else that of the
 *   session, which USE BRANCH set; at first that which the session began with.
 * - BEGIN opens a transaction and fixes its branch. COMMIT and ROLLBACK end it, and so does the end of a request. An error
 *   aborts it where the session goes on: it is open then, but does nothing any more until COMMIT or ROLLBACK ends it, and both undo it.
 */
export class SessionState {
  #branch: string;
  #localBranch: string | undefined;
  #transaction: OpenTransaction | undefined;
  #isAborted = false;

  /** @param branch the one that the session begins with */
  constructor(branch: string) {
    this.#branch = branch;
  }

  /** The branch of statements that name none. */
  get branch(): string {
    return this.#transaction?.branch ?? this.#localBranch ?? this.#branch;
  }

  get transaction(): OpenTransaction | undefined {
    return this.#transaction;
  }

  /** Whether the transaction that is open has failed. */
  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** Marks the open transaction as failed, if there is one. */
  abort(): void {
    this.#isAborted = this.#transaction !== undefined;
  }

  /** Uses another branch. Not within a transaction, whose branch is fixed. */
  useBranch(name: string, isLocal: boolean): void {
    assert(this.#transaction === undefined, 'the branch of a transaction is fixed');
    this.#localBranch = isLocal ? name : undefined;
    if (!isLocal) this.#branch = name;
  }

  /** @throws {ServiceError} `VALIDATION_FAILED` within a transaction */
  begin({ source }: SqlText, span: Span): void {
    if (this.#transaction !== undefined) {
      const text =
        'Transaction already in progress. Use COMMIT or ROLLBACK before starting a new transaction.';
      throw sqlError(text, source, span);
    }
    this.#transaction = { branch: this.branch, statements: [] };
  }

  /**
   * Takes the open transaction to end it: also when the end fails, it is gone.
   *
   * @param end what is asked for, for messages
   * @throws {ServiceError} `VALIDATION_FAILED` where there is none
   */
  take({ source }: SqlText, span: Span, end: 'commit' | 'roll back'): OpenTransaction {
    const open = this.#transaction;
    if (open === undefined) {
      const text = `No active transaction to ${end}. Use BEGIN to start a transaction first.`;
      throw sqlError(text, source, span);
    }
    this.discard();
    return open;
  }

  /** Ends the transaction, if there is one, without doing anything of it. The local branch ends with it. */
  discard(): void {
    if (this.#transaction === undefined) return;
    this.#transaction = undefined;
    this.#isAborted = false;
    this.#localBranch = undefined;
  }

  /** Ends what lasts up to the end of a request. */
  endRequest(): void {
    this.discard();
    this.#localBranch = undefined;
  }
}
