import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { includesInSlices } from '#runtime/content/values/text-search.ts';
import type { Evaluation } from '../evaluation/evaluation.ts';
import { integerOf, kindOf, type RelValue } from './rel-value.ts';

/** Up to this many comparisons of characters the built-in search is used, which takes that many in the worst case. */
const COMPARISONS_MAX = 1 << 16;

/** Further work of a character in a search of linear time. */
const LINEAR_SEARCH_WORK = 2;

const HIGH_FIRST = 0xd800;
const LOW_FIRST = 0xdc00;
const LOW_LAST = 0xdfff;

/** The number of characters of a text, by Unicode code points. */
export function characterCount(evaluation: Evaluation, text: string): number {
  evaluation.spend(text.length);
  let count = 0;
  for (let at = 0; at < text.length; at = after(text, at)) count += 1;
  return count;
}

/** The place after the character at `at`. */
function after(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  if (unit < HIGH_FIRST || unit >= LOW_FIRST) return at + 1;
  const next = text.charCodeAt(at + 1);
  return next >= LOW_FIRST && next <= LOW_LAST ? at + 2 : at + 1;
}

/**
 * The characters of a text from `start` up to, not including, `end`. Places outside of the text are moved to its ends.
 *
 * @throws {Fault} when a place is no integer
 */
export function substring(
  evaluation: Evaluation,
  text: string,
  start: RelValue,
  end: RelValue | undefined,
): string {
  const from = requirePlace(evaluation, start, text.length);
  const to = end === undefined ? text.length : requirePlace(evaluation, end, text.length);
  evaluation.spend(text.length);
  let count = 0;
  let at = 0;
  while (at < text.length && count < from) {
    at = after(text, at);
    count += 1;
  }
  const first = at;
  while (at < text.length && count < to) {
    at = after(text, at);
    count += 1;
  }
  return text.slice(first, at);
}

function requirePlace(evaluation: Evaluation, value: RelValue, length: number): number {
  const place = integerOf(value) ?? evaluation.fail(`Expected an integer, not ${kindOf(value)}`);
  if (place <= 0n) return 0;
  return place >= BigInt(length) ? length : Number(place);
}

/** Whether a text has another one in it, in time that grows with the sum of their lengths only. */
export function includesText(evaluation: Evaluation, text: string, needle: string): boolean {
  evaluation.spend(text.length + needle.length);
  if (text.length * needle.length <= COMPARISONS_MAX) return text.includes(needle);
  evaluation.spend((text.length + needle.length) * LINEAR_SEARCH_WORK);
  const unlimited = { workMax: Number.POSITIVE_INFINITY, memoryMax: Number.POSITIVE_INFINITY };
  const steps = includesInSlices(text, needle, new RequestBudget(unlimited));
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
