import type { Jsonb } from '../../sql-value.ts';
import { jsonValues, jsonWork } from '../json-limits.ts';
import { PATH_VISITS_MAX } from './evaluate-json-path.ts';
import type { JsonPath } from './json-path-nodes.ts';
import { parseJsonPath } from './parse-json-path.ts';

/** Estimated nanoseconds for a character of a path that is parsed. */
const CHARACTER_WORK = 30;

/** Estimated nanoseconds for a visit to a value, if those for copying one are not more. */
const VISIT_WORK = 100;

/** Characters of a path for each step, at least. */
const STEP_LENGTH = 2;

/** Remembers the path that was parsed last: nearly always a statement has the same one for every row. */
export class PathMemo {
  #text: string | undefined;
  #path: JsonPath | undefined;

  /** @throws {ServiceError} `VALIDATION_FAILED` as `parseJsonPath` */
  parsed(text: string): JsonPath {
    if (this.#path === undefined || this.#text !== text) {
      this.#path = parseJsonPath(text);
      this.#text = text;
    }
    return this.#path;
  }
}

/**
 * Estimated nanoseconds of parsing a path and of evaluating it: each step may look at every value, but only so many are
 * looked at at all. A path that descends, or has a filter, may come to a value several times.
 */
export function jsonPathWork(json: Jsonb, path: string): number {
  const steps = Math.min(path.length / STEP_LENGTH, PATH_VISITS_MAX);
  const values = jsonValues(json);
  const visits =
    path.includes('..') || path.includes('**') || path.includes('?') ? PATH_VISITS_MAX : steps * values;
  return (
    path.length * CHARACTER_WORK +
    Math.min(visits, PATH_VISITS_MAX) * Math.max(VISIT_WORK, jsonWork(json) / values)
  );
}
