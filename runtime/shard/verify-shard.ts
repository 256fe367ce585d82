import { sizeOfFile } from '#runtime/errors/refused-file.ts';
import { inspectHead, trustedRoot } from './lmdb-head.ts';
import { PageFile } from './page-file.ts';

/**
 * Verifies every page of the file of a shard without LMDB, which ends the process over some damaged pages. Costs as much as
 * reading the file. Nothing is changed.
 *
 * @param path of a file that nobody writes to; it may be missing or empty
 * @returns pauses now and then; at the end what is damaged, undefined when nothing is
 * @throws {Error} of the system, when it cannot be read
 */
export function* verifyShard(path: string): Generator<undefined, string | undefined> {
  if (sizeOfFile(path) === 0) return undefined;
  const head = inspectHead(path);
  if (!head.isSound) return head.reason;
  // Made, and never written to.
  if (trustedRoot(path) === undefined) return undefined;
  let found: string | undefined;
  const file = new PageFile(path, [], (table, what) => {
    // What lacks at its end may be free; a page that is not is missed where it is used.
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
