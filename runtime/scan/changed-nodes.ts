import { compareRevisions, type Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { decodeTypeCount } from '#runtime/tree/index-catalog.ts';
import { changePartCount, readBranchHead, readChangePart } from '#runtime/tree/revision-store.ts';
import { revisionsApart } from '#runtime/tree/revisions-apart.ts';

/** Most changed nodes that are kept, whatever the size of the workspace: some 5 MB. */
const CHANGED_MAX = 50_000;

/** Share of the nodes of a workspace that may have changed: reading a changed node costs as much as any other. */
const CHANGED_SHARE = 1 / 4;

/** Changed nodes, and read changes, that are always few. */
const FEW_NODES = 64;
const FEW_CHANGES = 512;

const none: ReadonlySet<string> = new Set();

/** The state that a read sees, see `Moment`. */
interface SeenState {
  readonly reader: TableReader;
  readonly at: Revision | undefined;
  rest(): void;
}

/**
 * The nodes of a workspace whose state at a moment may differ from the present one, from the records of the revisions
 * in between. Indexes have the present state only: a read at a revision takes the rows of all other nodes from them.
 *
 * Finding them costs a look-up for each revision in between and each 1,000 changes of one, and is given up when that is
 * more than reading the nodes of the workspace.
 */
export class ChangedNodes {
  readonly #moment: SeenState;
  readonly #workspace: string;
  readonly #ids = new Set<string>();
  /** Revision up to which the changes are known; undefined before the first. */
  #upTo: Revision | undefined;
  #isUnknown = false;
  /** Revisions and changes read. */
  #read = 0;

  constructor(moment: SeenState, workspace: string) {
    this.#moment = moment;
    this.#workspace = workspace;
  }

  /**
   * Their ids, up to the head that the reader has at the end of the call; later calls add to the same set.
   *
   * @returns undefined when they are too many, or records are lost. Yields where the work may pause; none without a change
   *   of the head since the last call
   */
  *ids(): Generator<undefined, ReadonlySet<string> | undefined> {
    const { at } = this.#moment;
    if (at === undefined) return none;
    this.#upTo ??= at;
    while (!this.#isUnknown) {
      const { head } = readBranchHead(this.#moment.reader);
      if (compareRevisions(head, this.#upTo) === 0) return this.#ids;
      yield* this.#add(this.#upTo, head);
      this.#upTo = head;
    }
    return undefined;
  }

  *#add(from: Revision, to: Revision): Generator<undefined, void> {
    const nodes = nodesIn(this.#moment.reader, this.#workspace);
    const changedMax = Math.min(Math.max(nodes * CHANGED_SHARE, FEW_NODES), CHANGED_MAX);
    const readMax = Math.max(nodes, FEW_CHANGES);
    const read = (): TableReader => this.#moment.reader;
    try {
      for (const { record } of revisionsApart(read, from, to)) {
        this.#read += 1 + record.changeCount;
        if (this.#read > readMax) return this.#giveUp();
        for (let part = 0; part < changePartCount(record); part += 1) {
          for (const { node_id: id, workspace } of readChangePart(read(), record, part) ?? [])
            if (workspace === this.#workspace) this.#ids.add(id);
          this.#moment.rest();
          yield undefined;
          if (this.#ids.size > changedMax) return this.#giveUp();
        }
      }
    } catch (error) {
      // Lost records make indexes useless for the past, not the past unreadable.
      if (!(error instanceof ServiceError) || error.code !== 'DATA_CORRUPTED') throw error;
      this.#giveUp();
    }
  }

  #giveUp(): void {
    this.#isUnknown = true;
    this.#ids.clear();
  }
}

/** Number of nodes of a workspace at the head. The cost grows with the number of its types. */
export function nodesIn(reader: TableReader, workspace: string): number {
  let nodes = 0;
  for (const { value } of reader.range(BranchTable.counts, underParts(workspace)))
    nodes += decodeTypeCount(value).count;
  return nodes;
}
