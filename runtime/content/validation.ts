import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
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
 * Work that checking one node may take, in estimated nanoseconds: a check is one step, which nothing interrupts.
 * Patterns take nearly all of it: a node with 100 texts of 10,000 characters, each with a pattern, takes a tenth.
 */
export const CHECK_WORK_MAX = 30_000_000;

/** Estimated nanoseconds of comparing a value with another one. */
export const COMPARISON_WORK = 20;

/** Estimated nanoseconds of reporting an issue, and of each character of its message. */
const REPORT_WORK = 500;
const CHARACTER_WORK = 2;

/** Adds up the work of one check. */
export class CheckWork {
  readonly #budget: RequestBudget | undefined;
  #spent = 0;

  /** @param budget of the request that the check is a part of */
  constructor(budget?: RequestBudget) {
    this.#budget = budget;
  }

  /** @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
  spend(nanoseconds: number): void {
    this.#spent += nanoseconds;
    if (this.#spent > CHECK_WORK_MAX) {
      throw new ServiceError(
        'REQUEST_TOO_EXPENSIVE',
        'This takes more work than one check may; simplify the patterns of the type, or shorten the texts they are matched against.',
      );
    }
    this.#budget?.spend(nanoseconds);
  }
}

/**
 * The state of one check over the properties of one node: where it is, what it has found, where element types
 * come from. Checks report to it instead of throwing, so that one answer names everything that is wrong.
 */
export class Validation {
  readonly source: ResolvedSource;
  readonly work: CheckWork;
  readonly issues: ValidationIssue[] = [];
  readonly #path: (string | number)[] = [];

  constructor(source: ResolvedSource, work: CheckWork = new CheckWork()) {
    this.source = source;
    this.work = work;
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
    this.work.spend(REPORT_WORK + message.length * CHARACTER_WORK);
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
