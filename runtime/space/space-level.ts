/** How much room there still is: each level refuses more than the one before. */
export type SpaceLevel = 'enough' | 'low' | 'refusing' | 'read-only';

/** From which share of a volume or a log on each level holds, in percent, rising. */
export interface SpaceMarks {
  /** An operator is told. */
  readonly alarmPercent: number;
  /** Writes are refused, except what takes something away. */
  readonly refusePercent: number;
  /** Everything that writes is refused. */
  readonly readOnlyPercent: number;
}

/** Levels from the best to the worst. */
export const spaceLevels: readonly SpaceLevel[] = ['enough', 'low', 'refusing', 'read-only'];

/** A level ends this far below its mark, in percentage points: else one small file would switch it to and fro. */
export const HYSTERESIS_PERCENT = 2;

/**
 * The level that follows from what is used now and from the level before.
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
