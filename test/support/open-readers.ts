import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** What LMDB lists: process, thread and transaction of each reader; `-` where a reader has no transaction now. */
const program = `
  const { open } = await import('lmdb');
  const shard = open({ path: process.argv[1], readOnly: true, noSubdir: false, maxDbs: 64 });
  process.stdout.write(shard.readerList());
`;

/** The transactions that readers of a shard hold open in any process, from LMDB's own list. @param folder of the shard */
export async function openReaders(folder: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '-e', program, folder],
    { cwd: import.meta.dirname },
  );
  return stdout
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([process, , transaction]) => /^\d+$/.test(process ?? '') && transaction !== '-')
    .map(([, , transaction]) => transaction as string);
}
