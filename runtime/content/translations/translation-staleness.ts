import { type CountHashed, sourceHash } from '../values/source-hash.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { JsonObject } from '../values/json-value.ts';
import type { Overlay, PropertiesOverlay } from './translation.ts';
import { parsePointer, PointerWalk, translatablePointers } from './translation-pointer.ts';
import type { ResolvedNodeType } from '../resolution/type-resolver.ts';

/** The answer of `translation-staleness`. @see docs/interface/translations.md#stale-translations */
export interface Staleness {
  /** The source has changed since the translation. */
  readonly stale: readonly {
    readonly pointer: string;
    readonly original_hash_at_translation: string;
    readonly current_original_hash: string;
    readonly translated_at: string;
  }[];
  /** Strings without a translation. */
  readonly missing: readonly { readonly pointer: string; readonly current_original_hash: string }[];
  /** The source has not changed since the translation. */
  readonly fresh: readonly string[];
  /** Translated, but without a source to compare with, then or now. */
  readonly unknown: readonly string[];
}

/**
 * Compares each translated value with the present source, in steps.
 *
 * @param overlay undefined when the locale has none; a hidden locale has no missing translations
 * @param type for `is_translatable`; null when it has been deleted
 */
export function* translationStaleness(
  properties: JsonObject,
  overlay: Overlay | undefined,
  type: ResolvedNodeType | null,
  count: CountHashed,
): Generator<undefined, Staleness> {
  const result = {
    stale: [] as Staleness['stale'][number][],
    missing: [] as Staleness['missing'][number][],
    fresh: [] as string[],
    unknown: [] as string[],
  };
  if (overlay?.type === 'hidden') return result;
  const data = overlay?.data ?? {};
  const walk = new PointerWalk();
  for (const pointer of Object.keys(data)) {
    const source = yield* walk.valueAt(properties, parsePointer(pointer));
    const origin = overlay!.origins[pointer];
    if (source === undefined || origin === undefined || origin.hash === null) {
      result.unknown.push(pointer);
      continue;
    }
    const current = yield* sourceHash(source, count);
    if (current === origin.hash) result.fresh.push(pointer);
    else {
      result.stale.push({
        pointer,
        original_hash_at_translation: origin.hash,
        current_original_hash: current,
        translated_at: origin.translated_at,
      });
    }
  }
  for (const pointer of translatablePointers(properties, type)) {
    if (pointer === undefined) yield;
    if (pointer === undefined || isCovered(pointer, data)) continue;
    const source = (yield* walk.valueAt(properties, parsePointer(pointer)))!;
    result.missing.push({ pointer, current_original_hash: yield* sourceHash(source, count) });
  }
  return result;
}

/** A translated object or list covers the strings in it. */
function isCovered(pointer: string, data: PropertiesOverlay['data']): boolean {
  for (let end = pointer.length; end > 0; end = pointer.lastIndexOf('/', end - 1)) {
    if (Object.hasOwn(data, pointer.slice(0, end))) return true;
  }
  return false;
}

/**
 * Confirms that a translation matches the present source.
 *
 * @param now ISO 8601
 * @throws {ServiceError} `VALIDATION_FAILED` when the pointer is not translated, or its source is gone
 */
export function* acknowledgeStaleness(
  overlay: Overlay | undefined,
  pointer: string,
  properties: JsonObject,
  now: string,
  count: CountHashed,
): Generator<undefined, PropertiesOverlay> {
  const isTranslated = overlay?.type === 'properties' && Object.hasOwn(overlay.data, pointer);
  // Split only if it is in the overlay, because then it is short.
  const source = isTranslated
    ? yield* new PointerWalk().valueAt(properties, parsePointer(pointer))
    : undefined;
  if (!isTranslated || source === undefined) {
    throw invalid(`'${pointer.slice(0, 80)}' is not a translated value of this locale`, { field: 'pointer' });
  }
  const origin = { hash: yield* sourceHash(source, count), translated_at: now };
  return Object.freeze({ ...overlay, origins: { ...overlay.origins, [pointer]: origin } });
}
