import type { Revision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Shard, ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';
import type { Memtable } from './memtable.ts';
import { MemtableReader } from './memtable-reader.ts';

/** What a view is made of; all of it as of the moment it is asked for. */
export interface ViewedActor {
  /** What is not in the shard yet, newest first. The array is replaced, never changed. */
  readonly memtables: () => readonly Memtable[];
  readonly shard: () => Shard;
  readonly clock: () => Revision;
  /** The newest memtable and the shard are held by a reader. @returns to be called when it has ended */
  readonly onPinned: (shard: Shard) => () => void;
}

/** One actor as a replica shows it to queries: after some entry of the log, with everything before it. */
export class ReplicaView {
  /** The present state; good within one turn of the event loop. @throws {ServiceError} `SHUTTING_DOWN` once it is gone */
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

  /** Whether the actor was removed, or the replica is not read from any more: ask for a new view. */
  get isGone(): boolean {
    return this.#isGone;
  }

  /** The highest revision clock of what is shown: every revision of the actor up to it is there. */
  get clock(): Revision {
    return this.#actor.clock();
  }

  /** Pins what is shown, for a read that spans several turns of the event loop. Close it. */
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
      get: (table, key) => reader.get(table, key),
      range: (table, range) => reader.range(table, range),
      close: () => {
        if (isClosed) return;
        isClosed = true;
        unpin();
        snapshot.close();
      },
    };
  }

  /** What it shows has changed. */
  changed(): void {
    this.#generation += 1;
  }

  /** Shows nothing from now on. */
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

  /** Another actor of the same name may have come since. */
  #requireThere(): void {
    if (this.#isGone) throw new ServiceError('SHUTTING_DOWN', 'What was being read is closed; read it again');
  }
}
