import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { closeSync, openSync } from 'node:fs';
import { ServiceError } from '#runtime/errors/service-error.ts';

/*
 * A process that opens a shard and ends: `shard-opener.ts <folder> [files it may still open]`. It says `opened`, or the error's code and message. It
 * is not root, whoever starts it, so that modes of files count.
 */
const [folder = '', free] = process.argv.slice(2);
const NOBODY = 65_534;

if (process.getuid?.() === 0) process.setuid?.(NOBODY);
if (free !== undefined) leaveOpenFiles(Number(free));
try {
  await new LmdbShard(folder, ['rows']).close();
  console.log('opened');
} catch (error) {
  if (!(error instanceof ServiceError)) throw error;
  const { code = '' } = (error.cause ?? {}) as NodeJS.ErrnoException;
  console.log(`${error.code} ${error.message} ${code}`);
}

function leaveOpenFiles(count: number): void {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    for (const descriptor of taken.slice(0, count)) closeSync(descriptor);
  }
}
