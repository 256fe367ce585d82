import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** What git says, or undefined where there is no repository. */
export function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
  });
  return status === 0 ? stdout : undefined;
}

/** The number of the present commit, counted from the first one; undefined where there is no repository. */
export function commitNumber(): number | undefined {
  const number = git('rev-list', '--count', 'HEAD');
  return number === undefined ? undefined : Number(number);
}
