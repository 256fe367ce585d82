import type { Revision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { NodeReader } from '#runtime/tree/node-reader.ts';
import { treeAt } from '#runtime/tree/past-node-reader.ts';

/** A reader that may go over to a later snapshot of the store, so that none is pinned for long. */
export interface MovingReader extends TableReader {
  /** Undefined while it shows the head with which the read began; then the revision of that head. */
  readonly begunAt: Revision | undefined;
  /** Number of times it went over to another snapshot. */
  readonly moves: number;
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

  /** @param at the revision; absent: the head */
  constructor(reader: TableReader | MovingReader, at?: Revision) {
    this.reader = reader;
    this.asked = at;
  }

  /** The revision to read at; undefined while the head tables of the reader have the state. */
  get at(): Revision | undefined {
    return this.asked ?? ('begunAt' in this.reader ? (this.reader as MovingReader).begunAt : undefined);
  }

  /** The tree of this state. Do not keep it across a pause. */
  get tree(): NodeReader {
    const { at } = this;
    const moves = 'moves' in this.reader ? (this.reader as MovingReader).moves : 0;
    // Which rows belong to a revision depends on where the head of the snapshot is.
    if (this.#tree === undefined || this.#treeAt !== at || this.#treeMoves !== moves) {
      this.#tree = treeAt(this.reader, at);
      this.#treeAt = at;
      this.#treeMoves = moves;
    }
    return this.#tree;
  }
}
