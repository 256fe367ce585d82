import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlType, SqlTypeName } from '../sql-type.ts';
import { requireInt } from '../types/number-ranges.ts';
import {
  divideInterval,
  requireInterval,
  scaleInterval,
  shiftDate,
  shiftTimestamp,
  startOfDate,
} from '../time/time-arithmetic.ts';
import {
  dateType,
  doubleType,
  intervalType,
  intType,
  timestamptzType,
  timestampType,
} from '../types/basic-types.ts';

type Evaluate = ScalarFunction['evaluate'];

interface TimeOperation {
  readonly parameters: readonly [SqlType, SqlType];
  readonly result: SqlType;
  readonly evaluate: Evaluate;
}

function operation(left: SqlType, right: SqlType, result: SqlType, evaluate: unknown): TimeOperation {
  return { parameters: [left, right], result, evaluate: evaluate as Evaluate };
}

const plusDays = (date: number, days: number): number => shiftDate(date, days);
const plusInterval = (time: bigint, interval: bigint): bigint => shiftTimestamp(time, interval);
const minusInterval = (time: bigint, interval: bigint): bigint => shiftTimestamp(time, -interval);
const between = (later: bigint, earlier: bigint): bigint => requireInterval(later - earlier);
const scaled = (interval: bigint, factor: number): bigint => scaleInterval(interval, factor);

/** By operator and the names of both types. A date becomes a timestamp before an interval is added, as in PostgreSQL. */
const operations: ReadonlyMap<string, TimeOperation> = new Map([
  ['timestamptz + interval', operation(timestamptzType, intervalType, timestamptzType, plusInterval)],
  ['timestamp + interval', operation(timestampType, intervalType, timestampType, plusInterval)],
  [
    'date + interval',
    operation(dateType, intervalType, timestampType, (date: number, interval: bigint) =>
      plusInterval(startOfDate(date), interval),
    ),
  ],
  ['date + int', operation(dateType, intType, dateType, plusDays)],
  [
    'interval + interval',
    operation(intervalType, intervalType, intervalType, (a: bigint, b: bigint) => requireInterval(a + b)),
  ],
  ['timestamptz - interval', operation(timestamptzType, intervalType, timestamptzType, minusInterval)],
  ['timestamp - interval', operation(timestampType, intervalType, timestampType, minusInterval)],
  [
    'date - interval',
    operation(dateType, intervalType, timestampType, (date: number, interval: bigint) =>
      minusInterval(startOfDate(date), interval),
    ),
  ],
  [
    'date - int',
    operation(dateType, intType, dateType, (date: number, days: number) => plusDays(date, -days)),
  ],
  [
    'date - date',
    operation(dateType, dateType, intType, (later: number, earlier: number) => requireInt(later - earlier)),
  ],
  ['timestamptz - timestamptz', operation(timestamptzType, timestamptzType, intervalType, between)],
  ['timestamp - timestamp', operation(timestampType, timestampType, intervalType, between)],
  ['interval - interval', operation(intervalType, intervalType, intervalType, between)],
  ['interval * double', operation(intervalType, doubleType, intervalType, scaled)],
  ['interval / double', operation(intervalType, doubleType, intervalType, divideInterval)],
]);

const times: readonly SqlTypeName[] = ['date', 'timestamp', 'timestamptz'];

/**
 * The operator for dates, timestamps and intervals.
 *
 * @returns undefined: it does not take these types
 */
export function timeArithmetic(operator: string, left: SqlType, right: SqlType): ScalarFunction | undefined {
  const isSwapped = (operator === '+' || operator === '*') && !hasOperation(operator, left, right);
  const [first, second] = isSwapped ? [right, left] : [left, right];
  const found = operationOf(operator, first, second);
  if (found === undefined) return undefined;
  const { evaluate, parameters, result } = found;
  const name = operator;
  return isSwapped
    ? {
        name,
        parameters: [parameters[1], parameters[0]],
        result,
        isStrict: true,
        evaluate: (a, b) => evaluate(b!, a!),
      }
    : { name, parameters, result, isStrict: true, evaluate };
}

function hasOperation(operator: string, left: SqlType, right: SqlType): boolean {
  return operationOf(operator, left, right) !== undefined;
}

function operationOf(operator: string, left: SqlType, right: SqlType): TimeOperation | undefined {
  const [a, b] = [nameOf(left, right, operator), nameOf(right, left, operator)];
  const exact = operations.get(`${a} ${operator} ${b}`);
  if (exact !== undefined) return exact;
  // Two times of different types are brought to the wider one.
  const wider = times[Math.max(times.indexOf(a), times.indexOf(b))];
  return times.includes(a) && times.includes(b) ? operations.get(`${wider} ${operator} ${wider}`) : undefined;
}

/** What an operand counts as: a literal beside a time is an interval where it is added, and another time otherwise. */
function nameOf(type: SqlType, other: SqlType, operator: string): SqlTypeName {
  const { name } = type;
  if (name === 'unknown' && (operator === '+' || operator === '-'))
    return times.includes(other.name) && operator === '+' ? 'interval' : other.name;
  if ((name === 'int' || name === 'bigint') && other.name === 'interval') return 'double';
  return name;
}
