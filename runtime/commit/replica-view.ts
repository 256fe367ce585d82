import type { Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { readerOver } from '#runtime/shard/reader-over.ts';
import type { Shard, ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';
import type { Memtable } from './memtable.ts';
import { MemtableReader } from './memtable-reader.ts';

/** The parts of a view, each as of the time of the call. */
export interface ViewedActor {
  /** Changes that are not in the shard yet, newest first. The array is replaced, never changed. */
  readonly memtables: () => readonly Memtable[];
  readonly shard: () => Shard;
  readonly clock: () => Revision;
  /** A reader holds the newest memtable and the shard. @returns must be called when it has ended */
  readonly onPinned: (shard: Shard) => () => void;
}

/** The state of one actor that a replica shows to queries: after some log entry, with everything before it. */
export class ReplicaView {
  /**
   * The present state; valid within one turn of the event loop. @throws {ServiceError} `SHUTTING_DOWN` once it is gone
   */
  readonly reader: TableReader;
  readonly #actor: ViewedActor;
  #generation = 0;
  #isGone = false;

  constructor(actor: ViewedActor) {
    this.#actor = actor;
    this.reader = new MemtableReader(
      () => this.#memtables(),
      () => this.#shard(),
      () => this.#generation,
    );
  }

  /** Whether the actor was removed or the replica was closed; request a new view then. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** The highest revision clock of the view. Every revision of the actor up to it is included. */
  get clock(): Revision {
    return this.#actor.clock();
  }

  /** Pins the state for a read that spans several turns of the event loop. The caller must close it. */
  pin(): ShardSnapshot {
    const memtables = this.#memtables();
    const shard = this.#shard();
    const snapshot = shard.snapshot();
    const unpin = this.#actor.onPinned(shard);
    const reader = new MemtableReader(
      () => memtables,
      () => snapshot,
    );
    let isClosed = false;
    return {
      ...readerOver(reader),
      close: () => {
        if (isClosed) return;
        isClosed = true;
        unpin();
        snapshot.close();
      },
    };
  }

  /** Must be called when the state has changed. */
  changed(): void {
    this.#generation += 1;
  }

  /** Ends the view. */
  end(): void {
    this.#isGone = true;
  }

  #memtables(): readonly Memtable[] {
    this.#requireThere();
    return this.#actor.memtables();
  }

  #shard(): Shard {
    this.#requireThere();
    return this.#actor.shard();
  }

  /** Throws when the view has ended, because another actor of the same name may exist by now. */
  #requireThere(): void {
    if (this.#isGone) throw new ServiceError('SHUTTING_DOWN', 'What was being read is closed; read it again');
  }
}
