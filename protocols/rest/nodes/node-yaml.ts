import { type ScalarTag, stringify, type Tags } from 'yaml';

/*
 * YAML that parsers of versions 1.1 and 1.2 read alike. Version 1.1 reads more plain words as another type than text:
 * `yes` and `on` are true, `012` is ten, `1_000` a thousand, `1:20` eighty, `2024-01-31` a date. It has more line
 * breaks, refuses more characters, and reads a number with an exponent as text unless it has a point and a sign.
 */

/** Words that mean true, false, null, a merge of keys or a default value, in any case. */
const words = /^(?:y|n|yes|no|on|off|true|false|null|~|<<|=)$/i;

/** The beginning of a number or a date in any of the dialects. */
const numeric = /^[-+]?[.\d]/;

/** A tab within a single line or before the first word: some parsers of version 1.1 refuse those without quotes. */
const tabbed = /^[^\n]*\t[^\n]*$|^\s*\t/;

/** Line breaks that only version 1.1 has, and characters it allows only in an escape. */
const escaped = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** A number with an exponent. Groups: digits before the point, the point and its digits, the sign, the exponent. */
const scientific = /(-?\d+)(\.\d+)?[eE]([-+]?)(\d+)/g;

function escapeIn(text: string): string {
  return text.replace(escaped, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function withPointAndSign(text: string): string {
  return text.replace(scientific, (_found, whole: string, fraction = '.0', sign = '', exponent: string) => {
    return `${whole}${fraction}e${sign === '' ? '+' : sign}${exponent}`;
  });
}

function needsQuotes(text: string): boolean {
  return words.test(text) || numeric.test(text) || tabbed.test(text) || text.search(escaped) !== -1;
}

/** Texts and keys that some parser would read as another type unless they are quoted. */
const quotedText: ScalarTag = {
  tag: 'tag:yaml.org,2002:str',
  default: true,
  identify: (value) => typeof value === 'string' && needsQuotes(value),
  resolve: (text) => text,
  stringify: ({ value }) => escapeIn(JSON.stringify(value)),
};

const scientificNumber: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => typeof value === 'number' && String(value).includes('e'),
  // Without a test the library prefers its own forms of a number.
  test: /^-?\d+\.\d+e[-+]\d+$/,
  resolve: Number,
  stringify: ({ value }) => withPointAndSign(String(value)),
};

const customTags = (tags: Tags): Tags => [quotedText, scientificNumber, ...tags];

/** A value in YAML's block style. The conversion is one step: a millisecond for each thousand characters. */
export function blockYaml(value: unknown): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0, customTags });
}

/** Characters converted in one step. */
const PIECE_LENGTH_MAX = 64 * 1024;

/**
 * JSON as YAML, in steps. YAML accepts JSON unchanged, except for characters and numbers that version 1.1 reads
 * differently.
 *
 * @returns pieces of the text, in order
 */
export function* flowYaml(json: string): Generator<string, void> {
  let piece = '';
  let isText = false;
  let quote = json.indexOf('"');
  for (let place = 0; place < json.length; ) {
    const end = partEnd(json, place, quote, isText);
    const part = json.slice(place, end);
    piece += isText ? escapeIn(part) : withPointAndSign(part);
    if (end === quote + 1) {
      if (!isText || endsText(json, quote)) isText = !isText;
      quote = json.indexOf('"', end);
    }
    place = end;
    if (piece.length >= PIECE_LENGTH_MAX) {
      yield piece;
      piece = '';
    }
  }
  yield piece;
}

/** The end of a part: after the next quote, or earlier when that is far away. Numbers are not split. */
function partEnd(json: string, place: number, quote: number, isText: boolean): number {
  const bound = place + PIECE_LENGTH_MAX;
  if (quote !== -1 && quote < bound) return quote + 1;
  if (isText || bound >= json.length) return Math.min(bound, json.length);
  const comma = json.lastIndexOf(',', bound);
  return comma > place ? comma : bound;
}

/** Whether the quote at an offset ends a text: it follows an even number of backslashes. */
function endsText(json: string, quote: number): boolean {
  let backslashes = 0;
  while (json[quote - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 0;
}
