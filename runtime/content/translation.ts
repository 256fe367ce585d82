import { isLargeJson } from '#runtime/base/sliced-json.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { DefinitionReader } from './definition-reader.ts';
import { boundMessage, measureJson } from './json-bounds.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonEquals, ownValue } from './json-value.ts';
import { LOCALES_MAX, parseLocale } from './locale.ts';
import { type CountHashed, sourceHash } from './translation-staleness.ts';
import {
  formatPointer,
  parsePointer,
  PointerWalk,
  requireShortPointer,
  requireTranslatable,
} from './translation-pointer.ts';
import type { ResolvedNodeType } from './type-resolver.ts';

/** The most pointers one overlay may have. */
export const OVERLAY_POINTERS_MAX = 4_096;
/** The most characters of all translations of a node together, with what they were made from, about. */
export const TRANSLATIONS_LENGTH_MAX = 2 * 1024 * 1024;
/**
 * The most characters that are hashed of what one command translates. What a node can have at all is less: only a value
 * that is translated within another that is translated counts more than once.
 */
const HASHED_LENGTH_MAX = 32 * 1024 * 1024;

/** What a translated value was made from. */
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

/** What one locale makes of a node: other values, or nothing to see. @see Supplement 9 */
export type Overlay = PropertiesOverlay | HiddenOverlay;

/** Nothing to see in one locale. What it covers comes back when the node is shown again. */
export type HiddenOverlay = { readonly type: 'hidden'; readonly covers?: PropertiesOverlay };

/** The overlay that hides a node in a locale. */
export const hiddenOverlay: HiddenOverlay = Object.freeze({ type: 'hidden' });

/** The overlay that hides a node and keeps the translation it had. */
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

/** The stored form with one overlay set; null overlay removes it. Null when none is left. */
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
 * Reads properties in a locale. The first overlay along the chain decides whether the node is hidden; of values
 * the most specific wins.
 *
 * @param stored the node's translations in stored form
 * @param chain from `resolveLocaleChain`
 * @returns the same object when nothing is translated
 * @see Supplement 9
 */
export function applyTranslations(
  properties: JsonObject,
  stored: JsonObject | null,
  chain: readonly string[],
): JsonObject | 'hidden' {
  if (stored === null || chain.length === 0) return properties;
  const overlays: PropertiesOverlay[] = [];
  for (const locale of chain) {
    const overlay = overlayOf(stored, locale);
    if (overlay === undefined) continue;
    if (overlay.type === 'properties') overlays.push(overlay);
    else if (overlays.length === 0) return 'hidden';
  }
  let translated: JsonValue = properties;
  const walk = new PointerWalk();
  for (const overlay of overlays.reverse()) {
    for (const [pointer, value] of Object.entries(overlay.data)) {
      translated = walk.replaceAt(translated, parsePointer(pointer), value);
    }
  }
  return translated as JsonObject;
}

/**
 * The overlay a `translate` command writes; it takes the place of the locale's earlier one.
 *
 * @param translations JSON pointer to value, from the body
 * @param now ISO 8601
 * @param type for `is_translatable`; null when it is gone
 * @throws {ServiceError} `VALIDATION_FAILED` for an empty map, a bad pointer, a place that is not translatable
 * @see Supplement 5.3, 9
 */
export function* makeOverlay(
  properties: JsonObject,
  translations: JsonObject,
  now: string,
  type: ResolvedNodeType | null,
): Generator<undefined, PropertiesOverlay> {
  const entries = Object.entries(translations);
  if (entries.length === 0)
    throw invalid('A translation needs at least one pointer', { field: 'translations' });
  requireFew(entries);
  const walk = new PointerWalk();
  for (const [pointer] of entries) {
    requireShortPointer(pointer);
    walk.requireReachable(properties, parsePointer(pointer));
  }
  return yield* overlayFrom(entries, { properties, now, type, walk }, undefined, new HashedSources());
}

/** What translations are of, and who follows their pointers. */
interface Translated {
  readonly properties: JsonObject;
  /** ISO 8601. */
  readonly now: string;
  readonly type: ResolvedNodeType | null;
  readonly walk: PointerWalk;
}

/** Counts what is hashed of the sources of translations. */
class HashedSources {
  #characters = 0;

  /** @throws {ServiceError} `VALIDATION_FAILED` when it is too much */
  readonly count: CountHashed = (characters) => {
    this.#characters += characters;
    if (this.#characters <= HASHED_LENGTH_MAX) return;
    throw invalid('The translated values are too large together; do not translate one within another', {
      field: 'translations',
    });
  };
}

function* overlayFrom(
  entries: readonly (readonly [pointer: string, value: JsonValue])[],
  { now, properties, type, walk }: Translated,
  previous: Overlay | undefined,
  hashed: HashedSources,
): Generator<undefined, PropertiesOverlay> {
  requireSmallTranslations(entries);
  const data: Record<string, JsonValue> = {};
  const origins: Record<string, TranslationOrigin> = {};
  for (const [pointer, value] of entries) {
    const keys = parsePointer(pointer);
    requireTranslatable(keys, type);
    data[pointer] = value;
    let origin = keptOrigin(previous, pointer, value);
    if (origin === undefined) {
      const source = walk.valueAt(properties, keys);
      const hash = source === undefined ? null : yield* sourceHash(source, hashed.count);
      origin = { hash, translated_at: now };
    }
    origins[pointer] = origin;
  }
  const size = measureJson(data);
  if (size < 0) throw invalid(`The translation ${boundMessage(size)}`, { field: 'translations' });
  return Object.freeze({ type: 'properties', data, origins });
}

/** @throws {ServiceError} `VALIDATION_FAILED` */
function requireFew(pointers: readonly unknown[]): void {
  if (pointers.length > OVERLAY_POINTERS_MAX)
    throw invalid(`A translation has at most ${OVERLAY_POINTERS_MAX} pointers`, { field: 'translations' });
}

/** A value that is written again unchanged is no new translation: it keeps what it was made from. */
function keptOrigin(
  previous: Overlay | undefined,
  pointer: string,
  value: JsonValue,
): TranslationOrigin | undefined {
  if (previous?.type !== 'properties' || !Object.hasOwn(previous.data, pointer)) return undefined;
  return jsonEquals(previous.data[pointer]!, value) ? previous.origins[pointer] : undefined;
}

/**
 * The node field `translations`: `{locale: {property: value}}`, deeper places by their pointer. A hidden locale
 * reads `{type: "hidden"}`.
 *
 * @param stored the stored form
 */
export function translationsField(stored: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(stored).map((locale) => {
      const overlay = overlayOf(stored, locale)!;
      if (overlay.type === 'hidden') return [locale, { type: 'hidden' }];
      const shown = Object.entries(overlay.data).map(([pointer, value]) => [shortKey(pointer), value]);
      return [locale, Object.fromEntries(shown)];
    }),
  );
}

/** A top-level property goes by its name, except where that would read as something else. */
function shortKey(pointer: string): string {
  const keys = parsePointer(pointer);
  const name = keys[0]!;
  return keys.length > 1 || name === '' || name.startsWith('/') || name === 'type' ? pointer : name;
}

/**
 * The stored form of the field `translations` of a body, in the form of {@link translationsField} or with overlays
 * `{type: "properties", data}`; it replaces all there were. Places that do not exist now are kept, so that a node
 * that was read can be written back after an edit.
 *
 * @param properties the properties the translations belong to
 * @param field the field
 * @param now ISO 8601
 * @param type for `is_translatable`; null when it is gone
 * @param previous the stored form so far: values that are the same keep what they were translated from
 * @returns null when nothing is translated
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `VALIDATION_FAILED`; also when they are too large together
 * @see Supplement 5.1, PUT
 */
export function* storedTranslations(
  properties: JsonObject,
  field: JsonObject,
  now: string,
  type: ResolvedNodeType | null,
  previous: JsonObject | null = null,
): Generator<undefined, JsonObject | null> {
  const reader = new DefinitionReader(field, 'translations');
  let stored: JsonObject | null = null;
  const translated = { properties, now, type, walk: new PointerWalk() };
  const hashed = new HashedSources();
  for (const key of Object.keys(field)) {
    const values = reader.optionalObject(key);
    if (values === null) continue;
    const locale = parseLocale(key, reader.place(key));
    if (isHidden(values)) {
      stored = withOverlay(stored, locale, hideOverlay(overlayOf(previous, locale)));
      continue;
    }
    const known = overlayOf(previous, locale);
    const overlay = yield* overlayFrom(overlayEntries(values), translated, known, hashed);
    if (Object.keys(overlay.data).length > 0) stored = withOverlay(stored, locale, overlay);
  }
  return requireSmallTranslations(stored);
}

/**
 * Refuses translations that are too large together. They are read and written whole with anything of their node, in one
 * step of the event loop. Those from before there was a bound, and those that a merge brings together, can be larger;
 * removing a locale is always possible.
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

function overlayEntries(values: JsonObject): readonly (readonly [string, JsonValue])[] {
  const data = ownValue(values, 'data');
  const isOverlay = ownValue(values, 'type') === 'properties' && isJsonObject(data);
  const entries = Object.entries(isOverlay ? data : values);
  requireFew(entries);
  return entries.map(([key, value]) => {
    requireShortPointer(key);
    return [key.startsWith('/') ? key : formatPointer([key]), value];
  });
}
