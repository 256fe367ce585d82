import { stableHash } from '#runtime/base/stable-hash.ts';
import { commitNumber, git } from '#test/support/commit-number.ts';
import type { GuardMutant } from './guard-mutant.ts';

/** So many mutants are tried in a run, of which a thousand take longer than all other tests. */
export const TRIED_MAX = 90;

/** Of them, so many at most because they changed of late: the others come in turn. */
export const LATE_MAX = 55;

/** Files that were changed by so many last commits count as changed of late: about those of a change that lands. */
const LATE_COMMITS = 50;

/** Where the turn of a commit begins: one that is any fixed number of commits later begins elsewhere, all over the list. */
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

/** What decides which mutants are tried. */
export interface TriedBy {
  /** The number of the commit; undefined: all mutants are tried. */
  readonly commit: number | undefined;
  /** Files that were changed of late, the last ones first: mutants of them, and those that name them as tests, come first. */
  readonly changed: readonly string[];
}

/** The mutants that are tried. */
export function triedMutants(all: readonly GuardMutant[], { changed, commit }: TriedBy): GuardMutant[] {
  if (commit === undefined) return [...all];
  const tried = new Set(changedOfLate(all, changed).slice(0, LATE_MAX));
  const inTurn = inPlaces(all);
  const begin = Math.floor(((commit * GOLDEN_RATIO) % 1) * all.length);
  for (const mutant of [...inTurn.slice(begin), ...inTurn.slice(0, begin)]) {
    if (tried.size >= TRIED_MAX) break;
    tried.add(mutant);
  }
  return all.filter((mutant) => tried.has(mutant));
}

/**
 * What the present commit decides: the same commit is always tried with the same mutants. All of them are tried with
 * `MUTANTS=all`, and where there is no repository.
 */
export function triedByCommit(): TriedBy {
  const commit = process.env.MUTANTS === 'all' ? undefined : commitNumber();
  if (commit === undefined) return { commit, changed: [] };
  const edited = git('diff', '--name-only', 'HEAD') ?? '';
  const committed = git('log', `-${LATE_COMMITS}`, '--name-only', '--format=') ?? '';
  return { commit, changed: `${edited}\n${committed}`.split('\n').filter((line) => line !== '') };
}

function changedOfLate(all: readonly GuardMutant[], changed: readonly string[]): GuardMutant[] {
  const ranks = new Map<string, number>();
  for (const file of changed) if (!ranks.has(file)) ranks.set(file, ranks.size);
  const rankOf = ({ file, tests }: GuardMutant): number =>
    Math.min(...[file, ...tests].map((name) => ranks.get(name) ?? Number.POSITIVE_INFINITY));
  return all
    .map((mutant) => ({ mutant, rank: rankOf(mutant) }))
    .filter(({ rank }) => Number.isFinite(rank))
    .sort((a, b) => a.rank - b.rank)
    .map(({ mutant }) => mutant);
}

/** Neighbours of a file are far from each other, so each turn has some of everything. */
function inPlaces(all: readonly GuardMutant[]): GuardMutant[] {
  return all
    .map((mutant) => ({ mutant, place: stableHash(`${mutant.file}: ${mutant.guard}`) }))
    .sort((a, b) => a.place - b.place)
    .map(({ mutant }) => mutant);
}
