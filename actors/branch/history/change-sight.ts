import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { NodeChange, RevisionRecord } from '#runtime/tree/revision-record.ts';
import { readChangeParts } from '#runtime/tree/revision-store.ts';
import { NodeAccess } from '../reads/node-access.ts';
import { stateUpTo } from './known-node.ts';

/** Estimated nanoseconds to look up the state of a changed node. */
const STATE_WORK = 20_000;

/** Changes looked at between two pauses. */
const CHANGES_PER_STEP = 200;

/**
 * Which changes of revisions a caller may learn of: those of nodes that may be read as the revision left them, or of deleted
 * ones as they were before.
 */
export class ChangeSight {
  readonly #context: QueryContext;
  readonly #reader: TableReader;
  readonly #access: NodeAccess;

  constructor(context: QueryContext, reader: TableReader) {
    this.#context = context;
    this.#reader = reader;
    this.#access = new NodeAccess(context, reader);
  }

  /** Whether the caller may learn of every change, so that none has to be looked at. */
  get seesAll(): boolean {
    return this.#access.policy.unrestricted;
  }

  /** Whether the caller may learn of a change of a revision. Yields while it reads large states. */
  *sees(
    { revision }: RevisionRecord,
    { node_id: id, node_type: nodeType, path, workspace }: NodeChange,
  ): Generator<undefined, boolean> {
    if (this.#access.readsAll(workspace)) return true;
    if (this.#access.decidesByPlace('read', workspace)) {
      const isSeen = this.#access.allowsAt('read', workspace, path, nodeType);
      // Many permissions may take some milliseconds.
      yield undefined;
      return isSeen;
    }
    this.#context.budget.spend(STATE_WORK);
    const state = yield* stateUpTo(this.#reader, workspace, id, parseRevision(revision));
    const isSeen = state !== undefined && this.#access.mayRead(workspace, state);
    // A condition may take some milliseconds.
    yield undefined;
    return isSeen;
  }

  /**
   * The message of a revision, which may name every node that it changed.
   *
   * @returns null when the caller may not learn of all changes. Yields where the work may pause
   */
  *message(record: RevisionRecord): Generator<undefined, string | null> {
    if (this.seesAll) return record.message;
    let looked = 0;
    for (const part of readChangeParts(this.#reader, record)) {
      for (const change of part) {
        if (!(yield* this.sees(record, change))) return null;
        looked += 1;
        if (looked % CHANGES_PER_STEP === 0) yield undefined;
      }
    }
    return record.message;
  }
}
