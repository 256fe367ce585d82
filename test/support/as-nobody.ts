import { lchownSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A user without any rights of its own. */
const NOBODY = 65_534;

/**
 * Does something without the rights of root, to whom the system refuses nothing; the files of a folder are the user's own.
 * Nothing else may run in the process meanwhile.
 */
export async function asNobody<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  if (process.geteuid?.() !== 0) return work();
  for (const name of ['', ...readdirSync(folder, { recursive: true })])
    lchownSync(join(folder, String(name)), NOBODY, NOBODY);
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
  }
}
