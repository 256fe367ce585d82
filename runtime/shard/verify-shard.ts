import { sizeOfFile } from '#runtime/errors/refused-file.ts';
import { inspectHead, trustedRoot } from './lmdb-head.ts';
import { PageFile } from './page-file.ts';

/**
 * Verifies every page of the file of a shard without LMDB, which crashes the process on some damaged pages. Costs as
 * much as reading the file. The file is never changed.
 *
 * @param path of a file that is not being written; it may be missing or empty
 * @returns yields between steps; returns the damage, undefined when there is none
 * @throws {Error} of the system, when the file cannot be read
 */
export function* verifyShard(path: string): Generator<undefined, string | undefined> {
  if (sizeOfFile(path) === 0) return undefined;
  const head = inspectHead(path);
  if (!head.isSound) return head.reason;
  // Created but never written to.
  if (trustedRoot(path) === undefined) return undefined;
  let found: string | undefined;
  const file = new PageFile(path, [], (table, what) => {
    // Pages missing at the end may be free; a missing page in use is reported where it is used.
    if (table !== '' || !what.startsWith('the file lacks'))
      found ??= table === '' ? what : `${table}: ${what}`;
  });
  try {
    for (const pause of file.verify()) {
      yield pause;
      if (found !== undefined) break;
    }
    return found;
  } finally {
    file.close();
  }
}
