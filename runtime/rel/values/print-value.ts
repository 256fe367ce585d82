import { isList, kindOf, numberOf, type RelValue, WholeFloat } from './rel-value.ts';

/** Longest printed value, in characters. */
export const PRINTED_LENGTH_MAX = 200;

/** Whole floats from here on are printed with an exponent. */
const EXPONENT_FROM = 1e21;

const escapes: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\\', '\\\\'],
  ["'", "\\'"],
]);

/** A value as a literal of the language, cut to about {@link PRINTED_LENGTH_MAX} characters. */
export function printValue(value: RelValue): string {
  return print(value, PRINTED_LENGTH_MAX);
}

function print(value: RelValue, lengthMax: number): string {
  if (typeof value === 'string') return printText(value, lengthMax);
  const number = numberOf(value);
  if (number !== undefined) {
    const text = String(number);
    const isPlain = value instanceof WholeFloat || (kindOf(value) === 'float' && Number.isInteger(number));
    return isPlain && Math.abs(Number(number)) < EXPONENT_FROM ? `${text}.0` : text;
  }
  if (typeof value !== 'object' || value === null) return String(value);
  return isList(value)
    ? printParts('[', value.values(), ']', (item, room) => print(item, room), lengthMax)
    : printParts(
        '{',
        Object.entries(value).values(),
        '}',
        ([key, item], room) => `${printText(key, room)}: ${print(item, room)}`,
        lengthMax,
      );
}

function printText(text: string, lengthMax: number): string {
  const isLong = text.length > lengthMax;
  const shown = isLong ? text.slice(0, lengthMax) : text;
  return `'${shown.replace(/[\n\r\t\\']/g, (char) => escapes.get(char)!)}${isLong ? '…' : ''}'`;
}

function printParts<T>(
  open: string,
  parts: Iterable<T>,
  close: string,
  printPart: (part: T, room: number) => string,
  lengthMax: number,
): string {
  let text = open;
  for (const part of parts) {
    if (text !== open) text += ', ';
    if (text.length >= lengthMax) return `${text}…${close}`;
    text += printPart(part, lengthMax - text.length);
  }
  return text + close;
}
