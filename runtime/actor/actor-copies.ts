import type { ShardPosition } from '#runtime/shard/shard.ts';
import type { ActorId } from './ports.ts';

/** Name of the file a copy consists of. */
export const COPY_FILE = 'data.mdb';

/** Copies what actors have stored, for backups. */
export interface ActorCopies {
  /**
   * Copies the stored state of an actor into a new folder, as one file named {@link COPY_FILE}, on the disk when it
   * resolves. It has everything that was answered before the call, whole batches only, and nothing of what is
   * answered after some moment during the call. The actor goes on serving.
   *
   * @param folder must not exist
   * @returns what the copy reaches
   * @throws {ServiceError} `NOT_FOUND` for an actor that does not exist, or is removed meanwhile; `STORAGE_FULL`,
   *   `WRITES_STOPPED`, `SHUTTING_DOWN`
   */
  copy(actor: ActorId, folder: string): Promise<ShardPosition>;
}
