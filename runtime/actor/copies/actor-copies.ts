import type { ShardPosition } from '#runtime/shard/shard.ts';
import type { ActorId } from '../ports.ts';

/** Name of the file of a copy. */
export const COPY_FILE = 'data.mdb';

/** Copies the stored state of actors, for backups. */
export interface ActorCopies {
  /**
   * Copies the stored state of an actor into a new folder, as one file named {@link COPY_FILE}. The copy is on disk
   * when the promise resolves. It contains everything acknowledged before the call, in whole batches, and nothing
   * acknowledged after some moment during the call. The actor keeps serving.
   *
   * @param folder must not exist
   * @returns position of the copy
   * @throws {ServiceError} `NOT_FOUND` for an actor that does not exist, or is removed meanwhile; `STORAGE_FULL`,
   *   `WRITES_STOPPED`, `SHUTTING_DOWN`
   */
  copy(actor: ActorId, folder: string): Promise<ShardPosition>;
}
