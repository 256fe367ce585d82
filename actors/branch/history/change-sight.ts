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

/** How many of the changed nodes of a revision a caller may learn of. With `none` there is no such revision for the caller. */
export type ChangeExtent = 'all' | 'some' | 'none';

/**
 * Which changes of revisions a caller may learn of: those of nodes that may be read as the revision left them, or of deleted
 * ones as they were before.
 *
 * A caller to whom something may be hidden learns of a revision when one of its changes may be learned of. A revision
 * that changed definitions alone has none.
 *
 * @see docs/decisions/0078-guesses-and-revisions.md
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

  /** How much of a revision the caller may learn of. Looks at no more changes than that takes. Yields where it may pause. */
  *extentOf(record: RevisionRecord): Generator<undefined, ChangeExtent> {
    if (this.seesAll) return 'all';
    let looked = 0;
    let isSeen = false;
    let isHidden = false;
    for (const part of readChangeParts(this.#reader, record)) {
      for (const change of part) {
        if (yield* this.sees(record, change)) isSeen = true;
        else isHidden = true;
        if (isSeen && isHidden) return 'some';
        looked += 1;
        if (looked % CHANGES_PER_STEP === 0) yield undefined;
      }
    }
    return isSeen ? 'all' : 'none';
  }
}

/**
 * The message of a revision, which may name every node that it changed.
 *
 * @returns null when the caller may not learn of all changes
 */
export function shownMessage({ message }: RevisionRecord, extent: ChangeExtent): string | null {
  return extent === 'all' ? message : null;
}
