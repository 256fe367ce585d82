/** From here on every double is whole. */
const WHOLE_MIN = 2 ** 52;

/** A double has no more decimal places, and no more digits before the point. */
const PLACES_MAX = 330;

/**
 * Rounds to a number of decimal places, a half away from zero. It is done on the decimal text of the number, so that
 * 1.005 is rounded to 1.01, although its double is a little smaller.
 *
 * @param places below zero: before the point
 */
export function rounded(value: number, places: number = 0): number {
  return atPlace(value, places, nearestWhole);
}

/** Adding a half before `floor` would round 0.49999999999999994 up. */
function nearestWhole(scaled: number): number {
  const whole = Math.floor(scaled);
  return scaled - whole >= 0.5 ? whole + 1 : whole;
}

/** As {@link rounded}, towards zero. */
export function truncated(value: number, places: number = 0): number {
  return atPlace(value, places, Math.floor);
}

/** @param toWhole of a number that is not negative */
function atPlace(value: number, places: number, toWhole: (scaled: number) => number): number {
  if (!Number.isFinite(value) || value === 0) return value + 0;
  const bounded = Math.max(-PLACES_MAX, Math.min(PLACES_MAX, places));
  const scaled = shifted(Math.abs(value), bounded);
  if (scaled >= WHOLE_MIN) return value;
  const whole = toWhole(scaled);
  return whole === 0 ? 0 : Math.sign(value) * shifted(whole, -bounded);
}

/** Moves the decimal point. */
function shifted(value: number, places: number): number {
  const [mantissa, power = '0'] = String(value).split('e') as [string, string?];
  return Number(`${mantissa}e${Number(power) + places}`);
}
