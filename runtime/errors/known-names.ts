import { nearestName } from '#runtime/base/nearest-name.ts';
import { invalid, type ServiceError } from './service-error.ts';

/** Characters of an unknown name that its refusal quotes. */
const SHOWN_LENGTH_MAX = 80;

/** Characters of the place of an unknown field that its refusal quotes; the end of it says most. */
const PLACE_LENGTH_MAX = 240;

/** Names of fields or query parameters that something has. Made once, and asked for each one that is sent. */
export class KnownNames {
  /** What can be sent and counts, in the order of the documentation. */
  readonly names: readonly string[];
  readonly #all: ReadonlySet<string>;

  /**
   * @param names what can be sent and counts
   * @param alsoTaken what is let through besides and never suggested: other spellings, what answers have and the server
   *   sets itself
   */
  constructor(names: readonly string[], alsoTaken: readonly string[] = []) {
    this.names = names;
    this.#all = new Set([...names, ...alsoTaken]);
  }

  /** Whether a name is one of them, or let through. */
  has(name: string): boolean {
    return this.#all.has(name);
  }

  /** Every name that is taken, also those that are only let through. */
  get all(): readonly string[] {
    return [...this.#all];
  }
}

/**
 * The refusal of a name that nothing is known by, with the one that was probably meant.
 *
 * @param what kind of name it is
 * @param name as it was sent
 * @param names what could have been sent
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
 * The dotted name of a field, shortened where it was sent: the beginning of its own name, and the end of its place.
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
