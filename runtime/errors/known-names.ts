import { nearestName } from '#runtime/base/text/nearest-name.ts';
import { invalid, type ServiceError } from './service-error.ts';

/** Length up to which an error quotes an unknown name. */
const SHOWN_LENGTH_MAX = 80;

/** Length up to which an error quotes the place of an unknown field; the end of it is the most useful part. */
const PLACE_LENGTH_MAX = 240;

/** Known names of fields or query parameters. Created once, checked for every name in a request. */
export class KnownNames {
  /** Accepted names that have an effect, in the order of the documentation. */
  readonly names: readonly string[];
  readonly #all: ReadonlySet<string>;

  /**
   * @param names accepted names that have an effect
   * @param alsoTaken names that are accepted without effect and never suggested: other spellings, and fields of answers
   *   that the server sets itself
   */
  constructor(names: readonly string[], alsoTaken: readonly string[] = []) {
    this.names = names;
    this.#all = new Set([...names, ...alsoTaken]);
  }

  /** Whether a name is accepted. */
  has(name: string): boolean {
    return this.#all.has(name);
  }

  /** All accepted names, with and without effect. */
  get all(): readonly string[] {
    return [...this.#all];
  }
}

/**
 * The error for an unknown name, with a suggestion of the nearest known one.
 *
 * @param what kind of name it is
 * @param name as it was sent
 * @param names the known names
 * @param at dotted place of the object that has the field; empty for the body itself
 * @returns `VALIDATION_FAILED`
 */
export function unknownName(
  what: 'field' | 'query parameter',
  name: string,
  names: readonly string[],
  at = '',
): ServiceError {
  const field = shownField(name, at);
  return invalid(`Unknown ${what} '${field}'; ${advice(name, names)}`, { field });
}

/**
 * The dotted name of a field, shortened to the beginning of its own name and the end of its place.
 *
 * @param at dotted place of the object that has the field; empty for the body itself
 */
export function shownField(name: string, at: string): string {
  const shown = name.length > SHOWN_LENGTH_MAX ? `${name.slice(0, SHOWN_LENGTH_MAX)}…` : name;
  const place = at.length > PLACE_LENGTH_MAX ? `…${at.slice(-PLACE_LENGTH_MAX)}` : at;
  return place === '' ? shown : `${place}.${shown}`;
}

function advice(name: string, names: readonly string[]): string {
  if (names.length === 0) return 'none is taken here';
  const nearest = nearestName(name, names);
  return nearest === undefined ? `known are ${names.join(', ')}` : `did you mean '${nearest}'?`;
}
