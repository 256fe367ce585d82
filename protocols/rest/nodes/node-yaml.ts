import { type ScalarTag, stringify, type Tags } from 'yaml';

/*
 * YAML that parsers of version 1.1 and of 1.2 read alike. Version 1.1 takes more plain words for something else than a
 * text: `yes` and `on` are true, `012` is ten, `1_000` a thousand, `1:20` eighty, `2024-01-31` a date. It has more line
 * breaks, refuses more characters, and takes a number with an exponent for a text unless it has a point and a sign.
 */

/** Words that stand for true, false, null, a merge of keys or a default value, in any case. */
const words = /^(?:y|n|yes|no|on|off|true|false|null|~|<<|=)$/i;

/** What begins like a number or a date, in any of the dialects. */
const numeric = /^[-+]?[.\d]/;

/** A tab within a single line, or before the first word: some parsers of version 1.1 refuse those without quotes. */
const tabbed = /^[^\n]*\t[^\n]*$|^\s*\t/;

/** Line breaks that only version 1.1 has, and what it does not allow outside of an escape. */
const escaped = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** A number with an exponent: its digits before the point, the point with those behind it, the sign, the exponent. */
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

/** Texts, keys among them, that would be read as something else by some parser unless they are in quotes. */
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

/** A value in the block style of YAML. It is made in one step: a millisecond for each thousand characters. */
export function blockYaml(value: unknown): string {
  return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0, customTags });
}

/** Characters that are made in one step. */
const PIECE_LENGTH_MAX = 64 * 1024;

/**
 * JSON as YAML, in steps. YAML takes JSON as it is, but for the characters and numbers that version 1.1 reads otherwise.
 *
 * @returns pieces that are the whole when they are put together
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

/** Behind the next quote, or earlier when that is far away. Numbers are not cut in two. */
function partEnd(json: string, place: number, quote: number, isText: boolean): number {
  const bound = place + PIECE_LENGTH_MAX;
  if (quote !== -1 && quote < bound) return quote + 1;
  if (isText || bound >= json.length) return Math.min(bound, json.length);
  const comma = json.lastIndexOf(',', bound);
  return comma > place ? comma : bound;
}

/** Whether the quote at a place is the end of a text: an even number of backslashes is before it. */
function endsText(json: string, quote: number): boolean {
  let backslashes = 0;
  while (json[quote - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 0;
}
