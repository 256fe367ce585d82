import { refusedFile, sizeOfFile } from '#runtime/errors/refused-file.ts';
import { isDamage } from '#runtime/errors/service-error.ts';
import type { RecordMark } from '#runtime/log/log-entry.ts';
import { inspectHead, trustedRoot } from './lmdb-head.ts';
import { PageFile } from './page-file.ts';

/** What the file of a shard says of itself. */
export interface StoredHead {
  /** Newest log record it has; 0: none, it has no content. */
  readonly sequence: number;
  /** Of that record, where the log has marks. */
  readonly mark?: RecordMark | undefined;
  /** Whose it is, as it is stored; undefined for a file that is older than identities. */
  readonly identity: Uint8Array | undefined;
}

/**
 * Looks at the file of a shard that nobody has open. It is read page by page, so that damage does not end the process,
 * and not one byte is changed.
 *
 * @returns undefined when it is missing, empty or damaged
 * @throws {ServiceError} `WRITES_STOPPED` when the system refuses it
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
  // Made, and never written to.
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
