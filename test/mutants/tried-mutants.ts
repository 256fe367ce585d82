import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { stableHash } from '#runtime/base/stable-hash.ts';
import type { GuardMutant } from './guard-mutant.ts';

/** The mutants are tried in so many turns, one for each commit. */
export const TURNS = 3;

/** Files that were changed by so many last commits count as changed of late: about those of a change that lands. */
const LATE_COMMITS = 50;

/** What decides which mutants are tried. */
export interface TriedBy {
  /** The turn of the commit, from 0; undefined: all mutants are tried. */
  readonly turn: number | undefined;
  /** Files that were changed of late: mutants of them, and those that name them as tests, are tried in every turn. */
  readonly changed: ReadonlySet<string>;
}

/** The mutants that are tried. */
export function triedMutants(all: readonly GuardMutant[], { changed, turn }: TriedBy): GuardMutant[] {
  return all.filter(
    ({ file, guard, tests }) =>
      turn === undefined ||
      changed.has(file) ||
      tests.some((test) => changed.has(test)) ||
      stableHash(`${file}: ${guard}`) % TURNS === turn,
  );
}

/**
 * What the present commit decides: the turn is that of its number, so the same commit is always tried with the same mutants.
 * All of them are tried with `MUTANTS=all`, and where there is no repository.
 */
export function triedByCommit(): TriedBy {
  const number = process.env.MUTANTS === 'all' ? undefined : git('rev-list', '--count', 'HEAD');
  if (number === undefined) return { turn: undefined, changed: new Set() };
  const committed = git('log', `-${LATE_COMMITS}`, '--name-only', '--format=') ?? '';
  const edited = git('diff', '--name-only', 'HEAD') ?? '';
  return {
    turn: Number(number) % TURNS,
    changed: new Set(`${committed}\n${edited}`.split('\n').filter((line) => line !== '')),
  };
}

function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, {
    cwd: join(import.meta.dirname, '../..'),
    encoding: 'utf8',
  });
  return status === 0 ? stdout : undefined;
}
