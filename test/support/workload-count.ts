import { commitNumber } from './commit-number.ts';

/** The least workloads a property, or seeds a simulation, is tried with. */
const LEAST = 4;

/** A run of the slow suite tries one of so many parts of the workloads, another one for each commit. */
const PARTS = 3;

/** What other runs try so many times fewer: `fast` and, by `few`, the tests of the interface against a cluster. */
const FAST_SHARE = 4;
const FEW_SHARE = 20;

/** Whether this run leaves nothing out, and begins with the first seed. */
function isWhole(): boolean {
  return process.env.WORKLOADS === 'all' || process.env.WORKLOADS === 'many';
}

/**
 * Number of workloads a property is tried with, or of seeds a simulation is: a third in the slow suite, a quarter in the
 * fast one, a twentieth against a cluster; all of them with `WORKLOADS=all`, and four times as many with `WORKLOADS=many`.
 *
 * @param all the number of all runs together
 */
export function workloadCount(all: number): number {
  const { WORKLOADS: wanted } = process.env;
  if (wanted === 'many') return 4 * all;
  if (wanted === 'all') return all;
  const share = wanted === 'part' ? PARTS : wanted === 'few' ? FEW_SHARE : FAST_SHARE;
  return Math.max(LEAST, Math.ceil(all / share));
}

/**
 * The first seed of a simulation that tries {@link workloadCount} of them, one after another: behind those of the runs of the
 * commits before. The same commit has the same seeds.
 *
 * @param first the first of all seeds
 * @param all the number of all seeds
 */
export function firstSeed(first: number, all: number): number {
  return first + presentPart() * workloadCount(all);
}

/**
 * Whether a case is tried in this run: of many that are alike, a run tries a third, and those of three
 * commits in a row together all. All are tried with `WORKLOADS=all`.
 *
 * @param index of the case, from 0
 */
export function isInTurn(index: number): boolean {
  return isWhole() || index % PARTS === presentPart();
}

let part: number | undefined;

/** Which part of the workloads is tried, from 0. */
export function presentPart(): number {
  if (isWhole()) return 0;
  part ??= (commitNumber() ?? 0) % PARTS;
  return part;
}
