import { dirname } from 'node:path';
import type { FileSystem } from './file-system.ts';

/**
 * Atomically replaces the content of a file, or creates it. A reader, also after a crash, finds either the old or the
 * new content, complete. It is durable when it resolves. Only one call at a time for a file.
 *
 * @throws the errors of the disk; the old content stays
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
