import { LinearPattern, type WorkMeter } from './linear-pattern.ts';

/** Limit of cached patterns. */
const PATTERNS_MAX = 512;

/** Limit of states of all cached automata. */
const STATES_MAX = 65_536;

/**
 * Compiled patterns of the whole process by their text; the oldest is evicted first. Types share patterns, and each may
 * have a thousand: stored with the types, they would take memory without bound. The cache of each automaton is bounded,
 * so everything here takes at most about 40 MiB.
 */
const patterns = new Map<string, LinearPattern>();
let states = 0;

/**
 * A compiled pattern, from the cache if possible.
 *
 * @param meter counts the work of compiling
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
