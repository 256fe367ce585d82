import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { CheckWork } from '../validation/check-work.ts';
import type { ResolvedArchetype } from '../resolution/field-resolver.ts';
import { type JsonObject, type JsonValue, ownValue } from '../values/json-value.ts';
import { normalizeProperties } from '../validation/normalize-node.ts';
import type { ResolvedSource } from '../resolution/schema-resolver.ts';
import { formatPointer, PointerWalk } from './translation-pointer.ts';
import type { ResolvedNodeType } from '../resolution/type-resolver.ts';
import { checkDeclared, checkProperty } from '../validation/validate-node.ts';
import { Validation, type ValidationIssue } from '../validation/validation.ts';

/** The rules for translated values: those of the properties they replace. */
export interface TranslationRules {
  /** The type of the node. */
  readonly type: ResolvedNodeType;
  /** The archetype of the node; null when it has none, or a deleted one. */
  readonly archetype: ResolvedArchetype | null;
  /** Source of element types. */
  readonly source: ResolvedSource;
  /** Of the request that writes the translation. */
  readonly budget?: RequestBudget;
}

/** One entry of an overlay. */
export interface TranslatedValue {
  readonly pointer: string;
  /** The keys of the pointer. */
  readonly keys: readonly string[];
  readonly value: JsonValue;
  /** Whether the overlay had the same value before: it is applied, but not checked again. */
  readonly isKept: boolean;
}

/**
 * Checks the new values of an overlay against the rules of the node. The properties are translated, and those that
 * contain a new value are checked as if they were written. Errors that existed before the new values are not reported.
 * Yields between two properties, and while a long array is read.
 *
 * @param properties of the node
 * @param values the whole overlay
 * @param complain called with each message once or more
 * @returns by pointer, the stored form of a value where it differs from the written one
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 * @see docs/interface/translations.md#translated-values
 */
export function* checkTranslated(
  properties: JsonObject,
  values: readonly TranslatedValue[],
  rules: TranslationRules,
  complain: (message: string) => void,
): Generator<undefined, ReadonlyMap<string, JsonValue>> {
  const normalForms = new Map<string, JsonValue>();
  const fresh = newByProperty(values);
  if (fresh.size === 0) return normalForms;
  const translated = yield* translate(properties, values);
  for (const [name, ofProperty] of fresh) {
    const declared = new Validation(rules.source, new CheckWork(rules.budget));
    checkDeclared(rules.type, rules.archetype, name, declared);
    for (const { message } of declared.issues) complain(message);
    const value = ownValue(translated, name);
    // A pointer without a target is not applied on reads, and no rule covers its value.
    if (value === undefined) continue;
    const written: JsonObject = { [name]: value };
    const normal = normalizeProperties(rules.archetype, written, rules.source);
    yield undefined;
    const issues = issuesOf(normal, name, rules);
    yield undefined;
    for (const message of yield* newComplaints(issues, ofProperty, normal, () =>
      issuesBefore(properties, values, name, rules),
    )) {
      complain(message);
    }
    if (normal !== written) yield* noteNormalForms(normal, ofProperty, normalForms);
  }
  return normalForms;
}

function newByProperty(values: readonly TranslatedValue[]): ReadonlyMap<string, TranslatedValue[]> {
  const byProperty = new Map<string, TranslatedValue[]>();
  for (const each of values) {
    if (each.isKept) continue;
    const name = each.keys[0]!;
    const known = byProperty.get(name);
    if (known === undefined) byProperty.set(name, [each]);
    else known.push(each);
  }
  return byProperty;
}

function* translate(
  properties: JsonObject,
  values: readonly TranslatedValue[],
): Generator<undefined, JsonObject> {
  const walk = new PointerWalk();
  let translated: JsonValue = properties;
  for (const { keys, value } of values) {
    translated = yield* walk.replaceAt(translated, keys, value);
    yield undefined;
  }
  return translated as JsonObject;
}

function issuesOf(properties: JsonObject, name: string, rules: TranslationRules): readonly ValidationIssue[] {
  const value = ownValue(properties, name);
  if (value === undefined) return [];
  const { archetype, budget, source, type } = rules;
  const validation = new Validation(source, new CheckWork(budget));
  checkProperty(type, archetype, name, value, validation);
  return validation.issues;
}

/** The errors of a property with only the previously translated values applied. */
function* issuesBefore(
  properties: JsonObject,
  values: readonly TranslatedValue[],
  name: string,
  rules: TranslationRules,
): Generator<undefined, readonly ValidationIssue[]> {
  const kept = values.filter(({ isKept, keys }) => isKept && keys[0] === name);
  const before = yield* translate(properties, kept);
  const { archetype, source } = rules;
  return issuesOf(normalizeProperties(archetype, before, source), name, rules);
}

/**
 * The messages caused by the new values: all in or below one of them, and those above that did not exist before.
 */
function* newComplaints(
  issues: readonly ValidationIssue[],
  fresh: readonly TranslatedValue[],
  properties: JsonObject,
  issuesBefore: () => Generator<undefined, readonly ValidationIssue[]>,
): Generator<undefined, readonly string[]> {
  if (issues.length === 0) return [];
  const places = new Set<string>();
  const walk = new PointerWalk();
  for (const { keys } of fresh) {
    const place = yield* walk.placeOf(properties, keys);
    if (place !== undefined) places.add(formatPointer(place));
    yield undefined;
  }
  const above = issues.filter(({ pointer }) => !isWithin(places, pointer));
  if (above.length === 0) return issues.map(({ message }) => message);
  const known = new Set((yield* issuesBefore()).map(({ message }) => message));
  return issues
    .filter((issue) => !above.includes(issue) || !known.has(issue.message))
    .map(({ message }) => message);
}

/** Whether a pointer equals one of some pointers, or is below one. */
function isWithin(places: ReadonlySet<string>, pointer: string): boolean {
  for (let end = pointer.length; end > 0; end = pointer.lastIndexOf('/', end - 1)) {
    if (places.has(pointer.slice(0, end))) return true;
  }
  return false;
}

function* noteNormalForms(
  normal: JsonObject,
  fresh: readonly TranslatedValue[],
  normalForms: Map<string, JsonValue>,
): Generator<undefined, void> {
  const walk = new PointerWalk();
  for (const { keys, pointer, value } of fresh) {
    const stored = yield* walk.valueAt(normal, keys);
    if (stored !== undefined && stored !== value) normalForms.set(pointer, stored);
    yield undefined;
  }
}
