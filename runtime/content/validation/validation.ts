import { CheckWork } from './check-work.ts';
import type { FieldSchema } from '../definitions/field-schema.ts';
import { JSON_KEY_LENGTH_MAX } from '../values/json-bounds.ts';
import type { JsonValue } from '../values/json-value.ts';

/** An error in the properties of a node. */
export interface ValidationIssue {
  /** For a person; names the property. */
  readonly message: string;
  /** The top-level property it is about. */
  readonly property: string;
  /** JSON pointer to the value within the properties. */
  readonly pointer: string;
}

/** Limit of collected issues; a value with a million wrong items needs no million messages. */
export const ISSUES_MAX = 100;

/** Length up to which a key that is too long is quoted. */
const SHOWN_LENGTH = 80;

/** Estimated nanoseconds of reporting an issue, and of each character of its message. */
const REPORT_WORK = 500;
const CHARACTER_WORK = 2;

/**
 * The state of one check over the properties of one node: its position, its issues, and the source of element types.
 * Checks report to it instead of throwing, so that one answer names all errors.
 */
export class Validation {
  readonly source: ElementRules;
  readonly work: CheckWork;
  readonly issues: ValidationIssue[] = [];
  readonly #path: (string | number)[] = [];

  constructor(source: ElementRules, work: CheckWork = new CheckWork()) {
    this.source = source;
    this.work = work;
  }

  /** Steps into a key or an item. Every call is paired with {@link leave}. */
  enter(key: string | number): void {
    const isShort = typeof key === 'number' || key.length <= JSON_KEY_LENGTH_MAX;
    // A longer one is refused, and quoted only in part.
    this.#path.push(isShort ? key : `${key.slice(0, SHOWN_LENGTH)}…`);
  }

  /** Steps back out. */
  leave(): void {
    this.#path.pop();
  }

  /** Reports an issue of the present value: `Property 'a.b' <what is wrong>`. */
  report(complaint: string): void {
    this.add(`Property '${this.#path.join('.')}' ${complaint}`);
  }

  /** Reports an issue with a complete message. */
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

  /** The position of the present value, for a message about a nested one. */
  place(): string {
    return this.#path.length === 0 ? '' : ` at '${this.#path.join('.')}'`;
  }
}

/** Checks one value and reports its errors. */
export type ValueCheck = (value: JsonValue, validation: Validation) => void;

/** A field with its compiled check. */
export interface ResolvedField {
  readonly schema: FieldSchema;
  readonly check: ValueCheck;
  /** The rules of a composite field's own fields. */
  readonly nested: FieldRules | null;
}

/** A set of fields, ready to check an object against. */
export interface FieldRules {
  readonly fields: readonly FieldSchema[];
  readonly byName: ReadonlyMap<string, ResolvedField>;
  readonly required: readonly string[];
  readonly strict: boolean;
  /** Defaults of absent keys of a new node. */
  readonly defaults: readonly (readonly [name: string, value: JsonValue])[];
  /** Whether any field, at any depth, is a location, whose stored form may differ from the written one. */
  readonly hasLocation: boolean;
}

/** Source of the rules of element types while a node is checked. Undefined: no type of that name. */
export interface ElementRules {
  elementType(name: string): FieldRules | undefined;
}
