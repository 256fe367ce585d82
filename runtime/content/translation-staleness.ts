import { hash } from 'node:crypto';
import { invalid } from '#runtime/errors/service-error.ts';
import { canonicalJson, type JsonObject, type JsonValue } from './json-value.ts';
import type { Overlay, PropertiesOverlay } from './translation.ts';
import { parsePointer, translatablePointers, valueAt } from './translation-pointer.ts';
import type { ResolvedNodeType } from './type-resolver.ts';

/** The answer of `translation-staleness`. @see Supplement 5.3 */
export interface Staleness {
  /** Translated from a source that has changed since. */
  readonly stale: readonly {
    readonly pointer: string;
    readonly original_hash_at_translation: string;
    readonly current_original_hash: string;
    readonly translated_at: string;
  }[];
  /** Texts without a translation. */
  readonly missing: readonly { readonly pointer: string; readonly current_original_hash: string }[];
  /** Translated from what the source still is. */
  readonly fresh: readonly string[];
  /** Translated, and there is no source to compare with, then or now. */
  readonly unknown: readonly string[];
}

/** SHA-256 (hex) of a value; equal values have equal hashes, whatever the order of their keys. */
export function sourceHash(value: JsonValue): string {
  return hash('sha256', canonicalJson(value), 'hex');
}

/**
 * Compares each translated value with the source it was made from.
 *
 * @param overlay undefined when the locale has none; a hidden locale misses nothing
 * @param type for `is_translatable`; null when it is gone
 */
export function translationStaleness(
  properties: JsonObject,
  overlay: Overlay | undefined,
  type: ResolvedNodeType | null,
): Staleness {
  const result = {
    stale: [] as Staleness['stale'][number][],
    missing: [] as Staleness['missing'][number][],
    fresh: [] as string[],
    unknown: [] as string[],
  };
  if (overlay?.type === 'hidden') return result;
  const data = overlay?.data ?? {};
  for (const pointer of Object.keys(data)) {
    const source = valueAt(properties, parsePointer(pointer));
    const origin = overlay!.origins[pointer];
    if (source === undefined || origin === undefined || origin.hash === null) {
      result.unknown.push(pointer);
      continue;
    }
    const current = sourceHash(source);
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
    if (isCovered(pointer, data)) continue;
    result.missing.push({
      pointer,
      current_original_hash: sourceHash(valueAt(properties, parsePointer(pointer))!),
    });
  }
  return result;
}

/** A translated object or list covers the texts in it. */
function isCovered(pointer: string, data: PropertiesOverlay['data']): boolean {
  for (let end = pointer.length; end > 0; end = pointer.lastIndexOf('/', end - 1)) {
    if (Object.hasOwn(data, pointer.slice(0, end))) return true;
  }
  return false;
}

/**
 * Says that a translation is right for the source as it is now.
 *
 * @param now ISO 8601
 * @throws {ServiceError} `VALIDATION_FAILED` when the pointer is not translated, or its source is gone
 */
export function acknowledgeStaleness(
  overlay: Overlay | undefined,
  pointer: string,
  properties: JsonObject,
  now: string,
): PropertiesOverlay {
  const isTranslated = overlay?.type === 'properties' && Object.hasOwn(overlay.data, pointer);
  // Split only when it is kept, and then it is short.
  const source = isTranslated ? valueAt(properties, parsePointer(pointer)) : undefined;
  if (!isTranslated || source === undefined) {
    throw invalid(`'${pointer.slice(0, 80)}' is not a translated value of this locale`, { field: 'pointer' });
  }
  const origin = { hash: sourceHash(source), translated_at: now };
  return Object.freeze({ ...overlay, origins: { ...overlay.origins, [pointer]: origin } });
}
