import type { FileSystem } from './file-system.ts';

/** The content of a file, up to its length at the time it was opened. @throws {Error} of Node, with its `code` */
export async function readWholeFile(files: FileSystem, path: string): Promise<Buffer> {
  const file = await files.open(path, 'read');
  try {
    const size = await file.size();
    const bytes = Buffer.allocUnsafeSlow(size);
    return bytes.subarray(0, await file.read(bytes, 0, size, 0));
  } finally {
    await file.close();
  }
}
