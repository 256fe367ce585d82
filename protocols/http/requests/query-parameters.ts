import { ServiceError, invalid } from '#runtime/errors/service-error.ts';
import { otherSpelling } from './other-spelling.ts';
import type { QueryParameters } from '../route.ts';

/** Maximum parameters of one query string, because lookups are linear. */
const parametersMax = 256;

function decodePart(raw: string, whole: string): string {
  if (!raw.includes('%') && !raw.includes('+')) return raw;
  try {
    return decodeURIComponent(raw.replaceAll('+', ' '));
  } catch {
    throw invalid(`The query parameter '${whole}' has broken percent-encoding.`);
  }
}

/** A parsed query string: names and values alternating, in order. */
class ParsedQuery implements QueryParameters {
  readonly #pairs: readonly string[];

  constructor(pairs: readonly string[]) {
    this.#pairs = pairs;
  }

  findName(isWanted: (name: string) => boolean): string | undefined {
    for (let index = 0; index < this.#pairs.length; index += 2) {
      const name = this.#pairs[index] as string;
      if (isWanted(name)) return name;
    }
    return undefined;
  }

  findConflict(isList: (name: string) => boolean): string | undefined {
    if (this.#pairs.length <= 2) return undefined;
    const values = new Map<string, string>();
    for (let index = 0; index < this.#pairs.length; index += 2) {
      const name = this.#pairs[index] as string;
      const value = this.#pairs[index + 1] as string;
      const known = values.get(name) ?? values.get(otherSpelling(name));
      if (known !== undefined && known !== value && !isList(name)) return name;
      if (known === undefined) values.set(name, value);
    }
    return undefined;
  }

  get(name: string): string | undefined {
    for (let index = 0; index < this.#pairs.length; index += 2) {
      if (this.#pairs[index] === name) return this.#pairs[index + 1];
    }
    return undefined;
  }

  either(name: string): string | undefined {
    return this.get(name) ?? this.get(otherSpelling(name));
  }

  all(name: string): readonly string[] {
    return this.#pairs.filter((_, index) => index % 2 === 1 && this.#pairs[index - 1] === name);
  }

  spelling(name: string): string {
    const other = otherSpelling(name);
    return this.get(name) === undefined && this.get(other) !== undefined ? other : name;
  }

  flag(name: string): boolean | undefined {
    const text = this.either(name);
    if (text === undefined) return undefined;
    if (text === '' || text === 'true' || text === '1') return true;
    if (text === 'false' || text === '0') return false;
    const field = this.spelling(name);
    throw invalid(`The query parameter '${field}' must be true or false.`, { field });
  }
}

const emptyQuery: QueryParameters = new ParsedQuery([]);

/**
 * Parses a query string; `+` is a space, a name without `=` has the empty value.
 *
 * @param queryString without the `?`
 * @throws {ServiceError} `VALIDATION_FAILED` for broken percent-encoding or more than 256 parameters
 */
export function parseQuery(queryString: string): QueryParameters {
  if (queryString === '') return emptyQuery;
  const pairs: string[] = [];
  for (const part of queryString.split('&')) {
    if (part === '') continue;
    if (pairs.length >= 2 * parametersMax) {
      throw new ServiceError('VALIDATION_FAILED', `At most ${parametersMax} query parameters are taken.`);
    }
    const equals = part.indexOf('=');
    const name = equals < 0 ? part : part.slice(0, equals);
    pairs.push(decodePart(name, name), equals < 0 ? '' : decodePart(part.slice(equals + 1), name));
  }
  return new ParsedQuery(pairs);
}
