import type { Evaluation } from '../evaluation/evaluation.ts';
import { integerOf, kindOf, type RelValue } from './rel-value.ts';

const SLASH = 0x2f;

/** The path without a name: what is above the root. Nothing is above or below it. */
const NO_PATH = '';

/**
 * The one form of a path in a condition: `/a/b`, without a slash at the end. `/` is the root.
 *
 * @returns undefined when the text is no path: without a slash at the start, with an empty segment, or empty
 */
export function pathForm(text: string): string | undefined {
  if (text.charCodeAt(0) !== SLASH || text.includes('//')) return undefined;
  return text.length > 1 && text.endsWith('/') ? text.slice(0, -1) : text;
}

/**
 * The path `steps` levels up; the empty text above the root.
 *
 * @throws {Fault} when `path` is no path or `steps` no integer from 0
 */
export function parentOf(evaluation: Evaluation, path: RelValue, steps: RelValue = 1): RelValue {
  const count = requireInteger(evaluation, steps);
  if (count < 0n) return evaluation.fail('parent() takes the number of levels, not a negative one');
  let form = requirePath(evaluation, path);
  for (let left = count; left > 0n && form !== NO_PATH; left -= 1n) {
    form = form === '/' ? NO_PATH : form.slice(0, form.lastIndexOf('/')) || '/';
  }
  return form;
}

/** The first segments of a path; the empty text when it has fewer, or for a number below 1. @throws {Fault} */
export function ancestorAt(evaluation: Evaluation, path: RelValue, segments: RelValue): RelValue {
  const count = requireInteger(evaluation, segments);
  const form = requirePath(evaluation, path);
  if (count < 1n || form === NO_PATH || form === '/') return NO_PATH;
  let end = 0;
  for (let left = count; left > 0n; left -= 1n) {
    if (end === form.length) return NO_PATH;
    const next = form.indexOf('/', end + 1);
    end = next === -1 ? form.length : next;
  }
  return form.slice(0, end);
}

/** The number of segments of a path. @throws {Fault} */
export function depthOf(evaluation: Evaluation, path: RelValue): RelValue {
  const form = requirePath(evaluation, path);
  if (form === NO_PATH || form === '/') return 0;
  let depth = 0;
  for (let index = 0; index !== -1; index = form.indexOf('/', index + 1)) depth += 1;
  return depth;
}

/** Whether a path is below another one, at any level. @throws {Fault} when one of them is no path */
export function isBelow(evaluation: Evaluation, path: RelValue, top: RelValue): boolean {
  const form = requirePath(evaluation, path);
  const above = requirePath(evaluation, top);
  if (form === NO_PATH || above === NO_PATH) return false;
  if (above === '/') return form !== '/';
  return form.length > above.length && form.charCodeAt(above.length) === SLASH && form.startsWith(above);
}

/** Whether a path is below another one by one level. @throws {Fault} when one of them is no path */
export function isChild(evaluation: Evaluation, path: RelValue, parent: RelValue): boolean {
  if (!isBelow(evaluation, path, parent)) return false;
  const form = requirePath(evaluation, path);
  const above = requirePath(evaluation, parent);
  return form.lastIndexOf('/') === (above === '/' ? 0 : above.length);
}

function requirePath(evaluation: Evaluation, value: RelValue): string {
  if (typeof value !== 'string') return evaluation.fail(`Expected a path, not ${kindOf(value)}`);
  evaluation.spend(value.length);
  if (value === NO_PATH) return NO_PATH;
  return pathForm(value) ?? evaluation.fail('Expected a path: it starts with / and has no empty segment');
}

function requireInteger(evaluation: Evaluation, value: RelValue): bigint {
  return integerOf(value) ?? evaluation.fail(`Expected an integer, not ${kindOf(value)}`);
}
