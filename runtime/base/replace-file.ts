import { dirname } from 'node:path';
import type { FileSystem } from './file-system.ts';

/**
 * Puts `bytes` in the place of what a file holds, or makes it. Whoever reads it, after a crash too, finds all of the old
 * content or all of the new. On the disk when it resolves. One call at a time for a file.
 *
 * @throws what the disk fails with; the old content stays
 */
export async function replaceFile(files: FileSystem, path: string, bytes: Uint8Array): Promise<void> {
  const unfinished = `${path}.new`;
  const file = await files.open(unfinished, 'create');
  try {
    await file.write(bytes, 0, bytes.length, 0);
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(unfinished, path);
  await files.syncDirectory(dirname(path));
}
