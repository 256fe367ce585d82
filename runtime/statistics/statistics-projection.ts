import type { Turn } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { NodeStep, Projection, ProjectionBatch } from '#runtime/projection/projection.ts';
import type { ProjectionRows } from '#runtime/projection/projection-rows.ts';
import { addNode, type Numbers } from './node-numbers.ts';
import { decodeNumbers, encodeNumbers } from './statistics-rows.ts';

/** Rows written between two yields. */
const ROWS_PER_REST = 64;

/**
 * How many nodes a branch has of each type, and which properties these have. Its rows are sums over nodes, so a change of
 * a node takes away the numbers of its state before and adds those of its state after.
 */
export const statisticsProjection: Projection = Object.freeze({
  name: 'statistics',
  version: 1,
  // Who reads them is told how far they are, and lets them go on.
  delayMs: 30_000,
  batch: (turn: Turn, rows: ProjectionRows) => new StatisticsBatch(turn, rows),
});

class StatisticsBatch implements ProjectionBatch {
  readonly #turn: Turn;
  readonly #rows: ProjectionRows;
  readonly #numbers: Numbers = new Map();

  constructor(turn: Turn, rows: ProjectionRows) {
    this.#turn = turn;
    this.#rows = rows;
  }

  *take({ after, before, workspace }: NodeStep): Generator<undefined, void> {
    const old = yield* before();
    if (old !== undefined) addNode(this.#numbers, workspace, old, -1);
    const next = yield* after();
    if (next !== undefined) addNode(this.#numbers, workspace, next, 1);
  }

  *write(): Generator<undefined, void> {
    let written = 0;
    for (const [key, change] of this.#numbers) {
      if (change.every((number) => number === 0)) continue;
      const stored = this.#rows.get(key);
      const before = stored === undefined ? [] : decodeNumbers(stored);
      const sums = change.map((number, index) => (before[index] ?? 0) + number);
      if (sums.some((sum) => sum < 0)) throw negative();
      const isGone = sums.every((sum) => sum === 0);
      this.#rows.set(this.#turn, key, isGone ? undefined : encodeNumbers(sums));
      written += 1;
      if (written % ROWS_PER_REST === 0) yield;
    }
  }
}

/** The rows are not those of the state before: they are counted anew then. */
function negative(): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    'The statistics of a branch have counted fewer nodes than it had',
  );
}
