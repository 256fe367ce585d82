import type { JsonValue } from './json-value.ts';
import type { ResolvedSource } from './schema-resolver.ts';

/** Something that is wrong with the properties of a node. */
export interface ValidationIssue {
  /** For a person; names the property. */
  readonly message: string;
  /** The top-level property it is about. */
  readonly property: string;
  /** JSON pointer to the value within the properties. */
  readonly pointer: string;
}

/** The most issues that are collected; a value with a million wrong items needs no million messages. */
export const ISSUES_MAX = 100;

/**
 * The state of one check over the properties of one node: where it is, what it has found, where element types
 * come from. Checks report to it instead of throwing, so that one answer names everything that is wrong.
 */
export class Validation {
  readonly source: ResolvedSource;
  readonly issues: ValidationIssue[] = [];
  readonly #path: (string | number)[] = [];

  constructor(source: ResolvedSource) {
    this.source = source;
  }

  /** Steps into a key or an item. Every call is paired with {@link leave}. */
  enter(key: string | number): void {
    this.#path.push(key);
  }

  /** Steps back out. */
  leave(): void {
    this.#path.pop();
  }

  /** Reports about the value at hand: `Property 'a.b' <what is wrong>`. */
  report(complaint: string): void {
    this.add(`Property '${this.#path.join('.')}' ${complaint}`);
  }

  /** Reports in words of the caller's own. */
  add(message: string): void {
    if (this.issues.length >= ISSUES_MAX) return;
    this.issues.push({
      message,
      property: String(this.#path[0] ?? ''),
      pointer: this.#path
        .map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`)
        .join(''),
    });
  }

  /** Adds where the value at hand is to a message about something below the top level. */
  place(): string {
    return this.#path.length === 0 ? '' : ` at '${this.#path.join('.')}'`;
  }
}

/** Checks one value and reports what is wrong with it. */
export type ValueCheck = (value: JsonValue, validation: Validation) => void;
