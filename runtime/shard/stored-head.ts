import { refusedFile, sizeOfFile } from '#runtime/errors/refused-file.ts';
import { isDamage } from '#runtime/errors/service-error.ts';
import type { RecordMark } from '#runtime/log/log-entry.ts';
import { inspectHead, trustedRoot } from './lmdb-head.ts';
import { PageFile } from './page-file.ts';

/** The position and identity stored in the file of a shard. */
export interface StoredHead {
  /** Sequence of its newest log record; 0: it has no content. */
  readonly sequence: number;
  /** Mark of that record, if the log has marks. */
  readonly mark?: RecordMark | undefined;
  /** The stored identity; undefined for a file older than identities. */
  readonly identity: Uint8Array | undefined;
}

/**
 * Reads the head of a shard file that is not open. It is read page by page, so that damage does not crash the process.
 * The file is never changed.
 *
 * @returns undefined when it is missing, empty or damaged
 * @throws {ServiceError} `WRITES_STOPPED` when the system refuses the read
 */
export function storedHead(path: string): StoredHead | undefined {
  if (sizeOfFile(path) === 0) return undefined;
  try {
    return headOf(path);
  } catch (cause) {
    throw refusedFile(path, cause) ?? cause;
  }
}

function headOf(path: string): StoredHead | undefined {
  if (!inspectHead(path).isSound) return undefined;
  // Created but never written to.
  if (trustedRoot(path) === undefined) return { sequence: 0, identity: undefined };
  let file: PageFile;
  try {
    file = new PageFile(path, [], () => {});
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  }
  try {
    const { format, identity, position } = file;
    return format === undefined ? undefined : { sequence: position.sequence, mark: position.mark, identity };
  } finally {
    file.close();
  }
}
