/** How much space is left: each level refuses more than the one before. */
export type SpaceLevel = 'enough' | 'low' | 'refusing' | 'read-only';

/** Use of a volume or a log at which each level begins, in percent, ascending. */
export interface SpaceMarks {
  /** The operator is warned. */
  readonly alarmPercent: number;
  /** Writes are refused, except those that remove data. */
  readonly refusePercent: number;
  /** All writes are refused. */
  readonly readOnlyPercent: number;
}

/** Levels from the best to the worst. */
export const spaceLevels: readonly SpaceLevel[] = ['enough', 'low', 'refusing', 'read-only'];

/** A level ends this far below its mark, in percentage points: otherwise one small file could toggle it. */
export const HYSTERESIS_PERCENT = 2;

/**
 * The level for the present use, given the level before.
 *
 * @param usedPercent 0 to 100
 * @see docs/decisions/0023-disk-space-limits.md
 */
export function levelAfter(before: SpaceLevel, usedPercent: number, marks: SpaceMarks): SpaceLevel {
  const rising = [marks.alarmPercent, marks.refusePercent, marks.readOnlyPercent];
  const reached = rising.filter((mark) => usedPercent >= mark).length;
  const kept = rising.filter((mark) => usedPercent > mark - HYSTERESIS_PERCENT).length;
  const level = Math.max(reached, Math.min(spaceLevels.indexOf(before), kept));
  return spaceLevels[level] as SpaceLevel;
}
