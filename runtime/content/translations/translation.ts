import { isLargeJson } from '#runtime/base/text/sliced-json.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { DefinitionReader } from '../definitions/definition-reader.ts';
import { boundMessage, measureJson } from '../values/json-bounds.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  ownValue,
  setKey,
} from '../values/json-value.ts';
import { type LanguageSettings, LOCALES_MAX, parseLocale, unsupportedLocale } from './locale.ts';
import { mergePatch } from '../values/merge-patch.ts';
import { type CountHashed, sourceHash } from '../values/source-hash.ts';
import { checkTranslated, type TranslatedValue, type TranslationRules } from './translation-check.ts';
import {
  formatPointer,
  parsePointer,
  PointerWalk,
  requireShortPointer,
  requireTranslatable,
} from './translation-pointer.ts';
import { invalidFor } from '../validation/validate-node.ts';
import { ISSUES_MAX } from '../validation/validation.ts';

/** The most pointers one overlay may have. */
export const OVERLAY_POINTERS_MAX = 4_096;
/** Approximate limit of characters of all translations of a node together, including their origins. */
export const TRANSLATIONS_LENGTH_MAX = 2 * 1024 * 1024;
/**
 * Limit of characters hashed for one command. A node holds fewer characters than this: only a value that is translated
 * inside another translated value counts more than once.
 */
const HASHED_LENGTH_MAX = 32 * 1024 * 1024;

/** The source of a translated value. */
export type TranslationOrigin = {
  /** SHA-256 of the source value at that time, hex; null when there was none. */
  readonly hash: string | null;
  /** ISO 8601. */
  readonly translated_at: string;
};

/** Translated values of one locale, by JSON pointer. */
export type PropertiesOverlay = {
  readonly type: 'properties';
  readonly data: { readonly [pointer: string]: JsonValue };
  readonly origins: { readonly [pointer: string]: TranslationOrigin };
};

/**
 * The translation of a node to one locale: other values, or hidden. @see
 * docs/interface/translations.md#translated-values
 */
export type Overlay = PropertiesOverlay | HiddenOverlay;

/** The node is hidden in one locale. The covered translation returns when the node is shown again. */
export type HiddenOverlay = { readonly type: 'hidden'; readonly covers?: PropertiesOverlay };

/** The overlay that hides a node in a locale. */
export const hiddenOverlay: HiddenOverlay = Object.freeze({ type: 'hidden' });

/** The overlay that hides a node and keeps its translation. */
export function hideOverlay(present: Overlay | undefined): HiddenOverlay {
  if (present === undefined) return hiddenOverlay;
  return present.type === 'hidden' ? present : { type: 'hidden', covers: present };
}

/** The overlay that shows a hidden node again; null when it had no translation. */
export function unhideOverlay(hidden: HiddenOverlay): PropertiesOverlay | null {
  return hidden.covers ?? null;
}

/** The overlay of a locale in the stored form of a node's translations. */
export function overlayOf(stored: JsonObject | null, locale: string): Overlay | undefined {
  return stored === null ? undefined : (ownValue(stored, locale) as Overlay | undefined);
}

/** The stored form with one overlay set; a null overlay removes it. Null when none is left. */
export function withOverlay(
  stored: JsonObject | null,
  locale: string,
  overlay: Overlay | null,
): JsonObject | null {
  const copy: Record<string, JsonValue> = { ...stored };
  if (overlay === null) delete copy[locale];
  else copy[locale] = overlay;
  const count = Object.keys(copy).length;
  if (count > LOCALES_MAX)
    throw invalid(`A node has at most ${LOCALES_MAX} translations`, { field: 'locale' });
  return count === 0 ? null : copy;
}

/** The locales a node is translated to or hidden in, sorted. */
export function translatedLocales(stored: JsonObject | null): readonly string[] {
  return stored === null ? [] : Object.keys(stored).sort();
}

/**
 * Whether a node is hidden in a locale: the first overlay along the chain decides.
 *
 * @param stored the node's translations in stored form
 * @param chain from `resolveLocaleChain`
 * @see docs/interface/translations.md#reading-in-a-locale
 */
export function isHiddenIn(stored: JsonObject | null, chain: readonly string[]): boolean {
  for (const locale of chain) {
    const overlay = overlayOf(stored, locale);
    if (overlay !== undefined) return overlay.type === 'hidden';
  }
  return false;
}

/**
 * Reads properties in a locale in which the node is not hidden, in steps; the most specific value applies.
 *
 * @param stored the node's translations in stored form
 * @param chain from `resolveLocaleChain`
 * @returns the same object when nothing is translated
 * @see docs/interface/translations.md#reading-in-a-locale
 */
export function* applyTranslations(
  properties: JsonObject,
  stored: JsonObject | null,
  chain: readonly string[],
): Generator<undefined, JsonObject> {
  let translated: JsonValue = properties;
  const walk = new PointerWalk();
  for (const locale of chain.toReversed()) {
    const overlay = overlayOf(stored, locale);
    if (overlay?.type !== 'properties') continue;
    for (const [pointer, value] of Object.entries(overlay.data)) {
      translated = yield* walk.replaceAt(translated, parsePointer(pointer), value);
      yield undefined;
    }
  }
  return translated as JsonObject;
}

/** A node whose translations are written. */
export interface TranslatedNode {
  /** The properties the translations belong to. */
  readonly properties: JsonObject;
  /** ISO 8601. */
  readonly now: string;
  /** The stored form of a value: references in it by id, without the nodes that a read shows in them. */
  readonly resolve: (value: JsonValue) => JsonValue;
  /** Null when the type of the node was deleted: then there are no rules for its values. */
  readonly rules: TranslationRules | null;
}

/**
 * The overlay a `translate` command writes; it replaces the locale's earlier one. Its values are checked like the
 * properties they replace, and one error names all problems.
 *
 * @param locale for the messages
 * @param translations JSON pointer to value, from the body
 * @throws {ServiceError} `VALIDATION_FAILED` for an empty map, a bad pointer, a place that is not translatable, a value
 *   that the property does not allow; `details.errors` lists every message; `REQUEST_TOO_EXPENSIVE`
 * @see docs/interface/translations.md#commands
 */
export function* makeOverlay(
  node: TranslatedNode,
  locale: string,
  translations: JsonObject,
): Generator<undefined, PropertiesOverlay> {
  const entries = Object.entries(translations);
  if (entries.length === 0)
    throw invalid('A translation needs at least one pointer', { field: 'translations' });
  requireFew(entries);
  const writer = new OverlayWriter(node, 'existing');
  const overlay = yield* writer.overlay(locale, entries, undefined);
  writer.requireNoComplaints();
  return overlay;
}

/**
 * The overlay of a locale with some values set and others dropped; the others stay as they are. Its new values are checked
 * as by {@link makeOverlay}.
 *
 * @param change by JSON pointer; null drops a value
 * @param previous the present overlay
 * @returns the same object when nothing changes; null when no value is left
 * @throws {ServiceError} as {@link makeOverlay}; `VALIDATION_FAILED` for values in a locale in which the node is hidden
 */
export function* mergedOverlay(
  node: TranslatedNode,
  locale: string,
  change: JsonObject,
  previous: Overlay | undefined,
): Generator<undefined, Overlay | null> {
  const changes = Object.entries(change);
  const isSetting = changes.some(([, value]) => value !== null);
  if (previous?.type === 'hidden') {
    if (!isSetting) return previous;
    const message = `The node is hidden in '${locale}' and cannot have values there; show it again first`;
    throw invalid(message, { field: 'translations' });
  }
  const entries = new Map(Object.entries(previous?.data ?? {}));
  let isDropping = false;
  for (const [pointer, value] of changes) {
    if (value !== null) entries.set(pointer, value);
    else if (entries.delete(pointer)) isDropping = true;
  }
  if (!isDropping && !isSetting) return previous ?? null;
  requireFew([...entries]);
  const writer = new OverlayWriter(node, 'existing');
  const overlay = yield* writer.overlay(locale, [...entries], previous);
  writer.requireNoComplaints();
  const { data } = overlay;
  if (Object.keys(data).length === 0) return null;
  return previous !== undefined && jsonEquals(data, previous.data) ? previous : overlay;
}

/** Creates the overlays of one command, and collects their errors. */
class OverlayWriter {
  readonly #node: TranslatedNode;
  readonly #places: 'existing' | 'any';
  readonly #walk = new PointerWalk();
  readonly #complaints = new Set<string>();
  #hashed = 0;

  /** @param places whether the parents of a pointer's target must exist */
  constructor(node: TranslatedNode, places: 'existing' | 'any') {
    this.#node = node;
    this.#places = places;
  }

  /** Records an error in the translation to a locale. */
  complain(locale: string, message: string): void {
    if (this.#isFull) return;
    this.#complaints.add(`Translation to '${locale}': ${message}`);
  }

  /** @throws {ServiceError} `VALIDATION_FAILED` */
  requireNoComplaints(): void {
    if (this.#complaints.size > 0) throw invalidFor([...this.#complaints], 'translations');
  }

  /**
   * The overlay of some entries; not valid when there are errors.
   *
   * @param previous the locale's former overlay, whose values are not checked again
   */
  *overlay(
    locale: string,
    entries: readonly (readonly [pointer: string, value: JsonValue])[],
    previous: Overlay | undefined,
  ): Generator<undefined, PropertiesOverlay> {
    requireSmallTranslations(entries);
    const size = measureJson(Object.fromEntries(entries));
    if (size < 0) throw invalid(`The translation ${boundMessage(size)}`, { field: 'translations' });
    const values = yield* this.#readValues(locale, entries, previous);
    const { properties, rules } = this.#node;
    const normalForms =
      rules === null
        ? undefined
        : yield* checkTranslated(properties, values, rules, (message) => this.complain(locale, message));
    const data: Record<string, JsonValue> = {};
    const origins: Record<string, TranslationOrigin> = {};
    if (this.#complaints.size === 0) {
      for (const value of values) {
        data[value.pointer] = normalForms?.get(value.pointer) ?? value.value;
        origins[value.pointer] = keptOrigin(previous, value) ?? (yield* this.#origin(value));
      }
    }
    return Object.freeze({ type: 'properties', data, origins });
  }

  get #isFull(): boolean {
    return this.#complaints.size >= ISSUES_MAX;
  }

  *#readValues(
    locale: string,
    entries: readonly (readonly [pointer: string, value: JsonValue])[],
    previous: Overlay | undefined,
  ): Generator<undefined, readonly TranslatedValue[]> {
    const values: TranslatedValue[] = [];
    for (const [pointer, given] of entries) {
      if (this.#isFull) break;
      try {
        requireShortPointer(pointer);
        const keys = parsePointer(pointer);
        const value = hasValue(previous, pointer, given) ? given : this.#node.resolve(given);
        const isKept = hasValue(previous, pointer, value);
        if (!isKept && this.#places === 'existing')
          yield* this.#walk.requireReachable(this.#node.properties, keys);
        if (!isKept) requireTranslatable(keys, this.#node.rules?.type ?? null);
        values.push({ pointer, keys, value, isKept });
      } catch (error) {
        if (!(error instanceof ServiceError) || error.code !== 'VALIDATION_FAILED') throw error;
        this.complain(locale, error.message);
      }
    }
    return values;
  }

  *#origin({ keys }: TranslatedValue): Generator<undefined, TranslationOrigin> {
    const { now, properties } = this.#node;
    const source = yield* this.#walk.valueAt(properties, keys);
    const hash = source === undefined ? null : yield* sourceHash(source, this.#countHashed);
    return { hash, translated_at: now };
  }

  /** @throws {ServiceError} `VALIDATION_FAILED` above the limit */
  readonly #countHashed: CountHashed = (characters) => {
    this.#hashed += characters;
    if (this.#hashed <= HASHED_LENGTH_MAX) return;
    throw invalid('The translated values are too large together; do not translate one within another', {
      field: 'translations',
    });
  };
}

/** @throws {ServiceError} `VALIDATION_FAILED` */
function requireFew(pointers: readonly unknown[]): void {
  if (pointers.length > OVERLAY_POINTERS_MAX)
    throw invalid(`A translation has at most ${OVERLAY_POINTERS_MAX} pointers`, { field: 'translations' });
}

function hasValue(overlay: Overlay | undefined, pointer: string, value: JsonValue): boolean {
  if (overlay?.type !== 'properties' || !Object.hasOwn(overlay.data, pointer)) return false;
  return jsonEquals(overlay.data[pointer]!, value);
}

/** A value written again unchanged is not a new translation: it keeps its origin. */
function keptOrigin(
  previous: Overlay | undefined,
  { isKept, pointer }: TranslatedValue,
): TranslationOrigin | undefined {
  return isKept && previous?.type === 'properties' ? previous.origins[pointer] : undefined;
}

/**
 * The node field `translations`: `{locale: {property: value}}`, with pointers for nested places. A hidden locale is
 * `{type: "hidden"}`.
 *
 * @param stored the stored form
 */
export function translationsField(stored: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(stored).map((locale) => [locale, shownOverlay(overlayOf(stored, locale)!)]),
  );
}

/** One locale in {@link translationsField}. */
export function shownOverlay(overlay: Overlay): JsonObject {
  return overlay.type === 'hidden' ? { type: 'hidden' } : overlayField(overlay);
}

/** The hashes of the sources of a locale's values, under the keys that {@link shownOverlay} uses for the values. */
export function shownOrigins(overlay: Overlay): JsonObject {
  if (overlay.type === 'hidden') return {};
  const hashes = Object.keys(overlay.data).map((pointer) => {
    const origin = ownValue(overlay.origins, pointer) as TranslationOrigin | undefined;
    return [shortKey(pointer), origin?.hash ?? null];
  });
  return Object.fromEntries(hashes);
}

function overlayField(overlay: PropertiesOverlay | null): JsonObject {
  const values = Object.entries(overlay?.data ?? {});
  return Object.fromEntries(values.map(([pointer, value]) => [shortKey(pointer), value]));
}

/**
 * The field `translations` with a merge patch applied. Null removes a locale, or a value of one. `{type: "hidden"}`
 * hides the node in a locale, and a `type` of null shows it again with its translation. Values are named by their
 * property or by their pointer.
 *
 * @param stored the stored form
 * @param patch by locale
 * @returns a generator that yields between steps
 * @throws {ServiceError} `UNPROCESSABLE_BODY`; `VALIDATION_FAILED` when a locale would be hidden and have values
 * @see docs/interface/nodes.md#changing-a-node-in-part
 */
export function* patchedTranslations(
  stored: JsonObject | null,
  patch: JsonObject,
): Generator<undefined, JsonObject> {
  const reader = new DefinitionReader(patch, 'translations');
  const field: Record<string, JsonValue> = stored === null ? {} : { ...translationsField(stored) };
  const seen = new Map<string, JsonValue>();
  for (const key of Object.keys(patch)) {
    const given = reader.optionalObject(key);
    const locale = parseLocale(key, reader.place(key));
    requireOneValue(seen, locale, given, reader.place(key));
    if (given === null) delete field[locale];
    else if (isHidden(given)) field[locale] = given;
    else {
      const change = shortKeys(overlayValues(given), reader.place(key));
      const present = overlayOf(stored, locale);
      const isShown = present?.type === 'hidden' && ownValue(change, 'type') === null;
      const base = isShown ? overlayField(unhideOverlay(present)) : ownValue(field, locale);
      const merged = (yield* mergePatch(base, change)) as JsonObject;
      if (ownValue(merged, 'type') === 'hidden' && Object.keys(merged).length > 1) {
        const message = `The node is hidden in '${locale}' and cannot have values there; show it again with type null`;
        throw invalid(message, { field: reader.place(key) });
      }
      field[locale] = merged;
    }
  }
  return field;
}

function shortKeys(values: JsonObject, place: string): JsonObject {
  const short: Record<string, JsonValue> = {};
  const seen = new Map<string, JsonValue>();
  for (const key of Object.keys(values)) {
    requireShortPointer(key);
    const name = key.startsWith('/') ? shortKey(key) : key;
    requireOneValue(seen, name, values[key] as JsonValue, place);
    setKey(short, name, values[key] as JsonValue);
  }
  return short;
}

/**
 * Refuses two values under two spellings of one name, of which one would be lost.
 *
 * @param seen the values so far, by the name they count for
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
function requireOneValue(seen: Map<string, JsonValue>, name: string, value: JsonValue, field: string): void {
  const known = seen.get(name);
  if (known !== undefined && !jsonEquals(known, value))
    throw invalid(`'${name}' is given under two names, with different values`, { field });
  seen.set(name, value);
}

/** A top-level property is named without a pointer, except where the name would be ambiguous. */
function shortKey(pointer: string): string {
  const keys = parsePointer(pointer);
  const name = keys[0]!;
  return keys.length > 1 || name === '' || name.startsWith('/') || name === 'type' ? pointer : name;
}

/**
 * The stored form of the field `translations` of a body, in the form of {@link translationsField} or with overlays
 * `{type: "properties", data}`. It replaces all former translations. Pointers without a target are kept, so that a node
 * that was read can be written back after an edit.
 *
 * Unchanged values and hidden locales are accepted without a check against the present rules; others are checked as by
 * `translate`.
 *
 * @param field the field
 * @param languages of the repository; null for locales of existing content
 * @param previous the former stored form
 * @returns null when nothing is translated
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`; also when they are too large together;
 *   `REQUEST_TOO_EXPENSIVE`
 * @see docs/interface/nodes.md#updating-a-node
 */
export function* storedTranslations(
  node: TranslatedNode,
  field: JsonObject,
  languages: LanguageSettings | null,
  previous: JsonObject | null = null,
): Generator<undefined, JsonObject | null> {
  const reader = new DefinitionReader(field, 'translations');
  let stored: JsonObject | null = null;
  const writer = new OverlayWriter(node, 'any');
  const seen = new Map<string, JsonValue>();
  for (const key of Object.keys(field)) {
    const values = reader.optionalObject(key);
    if (values === null) continue;
    const place = reader.place(key);
    const locale = parseLocale(key, place);
    requireOneValue(seen, locale, values, place);
    const known = overlayOf(previous, locale);
    const entries = isHidden(values) ? null : overlayEntries(values, place);
    const unsupported = languages === null ? null : unsupportedLocale(locale, languages);
    if (unsupported !== null && !isKnown(entries, known)) writer.complain(locale, unsupported);
    const overlay = entries === null ? hideOverlay(known) : yield* writer.overlay(locale, entries, known);
    if (overlay.type === 'hidden' || Object.keys(overlay.data).length > 0)
      stored = withOverlay(stored, locale, overlay);
  }
  writer.requireNoComplaints();
  return requireSmallTranslations(stored);
}

/** Whether a locale is unchanged. @param entries null: it hides the node */
function isKnown(
  entries: readonly (readonly [string, JsonValue])[] | null,
  known: Overlay | undefined,
): boolean {
  if (entries === null) return known?.type === 'hidden';
  return entries.every(([pointer, value]) => hasValue(known, pointer, value));
}

/**
 * Refuses translations that are too large together. They are read and written as a whole with their node, in one step
 * of the event loop. Translations from before this limit, and the result of a merge, can be larger; removing a locale
 * is always possible.
 *
 * @param translations the stored form, or a part of it
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireSmallTranslations<T>(translations: T): T {
  if (!isLargeJson(translations, TRANSLATIONS_LENGTH_MAX)) return translations;
  throw invalid(
    `The translations of a node have at most ${TRANSLATIONS_LENGTH_MAX} characters together; put long texts into nodes of their own`,
    { field: 'translations' },
  );
}

function isHidden(values: JsonObject): boolean {
  return ownValue(values, 'type') === 'hidden' && Object.keys(values).length === 1;
}

/** The values by pointer or name, also from an overlay `{type: "properties", data}`. */
function overlayValues(values: JsonObject): JsonObject {
  const data = ownValue(values, 'data');
  return ownValue(values, 'type') === 'properties' && isJsonObject(data) ? data : values;
}

function overlayEntries(values: JsonObject, place: string): readonly (readonly [string, JsonValue])[] {
  const entries = Object.entries(overlayValues(values));
  requireFew(entries);
  const byPointer = new Map<string, JsonValue>();
  for (const [key, value] of entries) {
    requireShortPointer(key);
    requireOneValue(byPointer, key.startsWith('/') ? key : formatPointer([key]), value, place);
  }
  return [...byPointer];
}
