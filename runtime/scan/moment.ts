import type { Revision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { NodeReader } from '#runtime/tree/node-reader.ts';
import { treeAt } from '#runtime/tree/past-node-reader.ts';
import { ChangedNodes } from './changed-nodes.ts';

/** A reader that may go over to a later snapshot of the store, so that none is pinned for long. */
export interface MovingReader extends TableReader {
  /** Undefined while it shows the head with which the read began; then the revision of that head. */
  readonly begunAt: Revision | undefined;
  /** Number of times it went over to another snapshot. */
  readonly moves: number;
  /**
   * Says that a pause may follow at which the reader goes over to another snapshot, until something is read again: nothing
   * that was read is used behind it but records, keys and positions of the state that the read shows.
   */
  rest(): void;
}

/** As {@link MovingReader.rest}, for a reader that may be one. */
export function restReader(reader: TableReader | MovingReader): void {
  if ('rest' in reader) reader.rest();
}

/**
 * The state that a read sees: the head, or the state at a revision. A read at the head whose reader goes over to a later
 * snapshot continues at the revision that was the head when it began, so it sees no other state.
 */
export class Moment {
  readonly reader: TableReader;
  /** The revision that was asked for; undefined for the head. */
  readonly asked: Revision | undefined;
  #tree: NodeReader | undefined;
  #treeAt: Revision | undefined;
  #treeMoves = 0;
  readonly #changed = new Map<string, ChangedNodes>();

  /** @param at the revision; absent: the head */
  constructor(reader: TableReader | MovingReader, at?: Revision) {
    this.reader = reader;
    this.asked = at;
  }

  /** The revision to read at; undefined while the head tables of the reader have the state. */
  get at(): Revision | undefined {
    return this.asked ?? ('begunAt' in this.reader ? (this.reader as MovingReader).begunAt : undefined);
  }

  /** Number of times the reader went over to another snapshot. */
  get moves(): number {
    return 'moves' in this.reader ? (this.reader as MovingReader).moves : 0;
  }

  /** Whether the reader shows one state as long as {@link moves} is the same. */
  get countsMoves(): boolean {
    return 'moves' in this.reader;
  }

  /** See {@link MovingReader.rest}. */
  rest(): void {
    restReader(this.reader);
  }

  /** The tree of this state. Do not keep it across a pause. */
  get tree(): NodeReader {
    const { at, moves } = this;
    // Which rows belong to a revision depends on where the head of the snapshot is.
    if (this.#tree === undefined || this.#treeAt !== at || this.#treeMoves !== moves) {
      this.#tree = treeAt(this.reader, at);
      this.#treeAt = at;
      this.#treeMoves = moves;
    }
    return this.#tree;
  }

  /** The nodes of a workspace that may differ from their present state. */
  changedIn(workspace: string): ChangedNodes {
    let changed = this.#changed.get(workspace);
    if (changed === undefined) {
      changed = new ChangedNodes(this, workspace);
      this.#changed.set(workspace, changed);
    }
    return changed;
  }
}

/** What the head tables of a reader have, whatever moment is read: the rows of nodes that did not change since. */
export class PresentState extends Moment {
  override get at(): undefined {
    return undefined;
  }
}
