import { LinearPattern, type WorkMeter } from './linear-pattern.ts';

/** Patterns kept at most. */
const PATTERNS_MAX = 512;

/** States of the automata that are kept, in all. */
const STATES_MAX = 65_536;

/**
 * Compiled patterns of the whole process, by their text; the one that has been there longest goes first. Types share
 * patterns, and each of them may have a thousand: kept by the types, they would take memory without bound. What the
 * automata remember of texts is bounded by each, so everything here takes at most some 40 MiB.
 */
const patterns = new Map<string, LinearPattern>();
let states = 0;

/**
 * A pattern, compiled now or before.
 *
 * @param meter told of the work of compiling
 * @throws {ServiceError} `VALIDATION_FAILED` as `LinearPattern`
 */
export function patternOf(text: string, meter?: WorkMeter): LinearPattern {
  const known = patterns.get(text);
  if (known !== undefined) return known;
  const compiled = new LinearPattern(text);
  meter?.spend(compiled.compileWork);
  states += compiled.size;
  for (const [oldest, { size }] of patterns) {
    if (patterns.size < PATTERNS_MAX && states <= STATES_MAX) break;
    patterns.delete(oldest);
    states -= size;
  }
  patterns.set(text, compiled);
  return compiled;
}
