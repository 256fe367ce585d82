import type { JsonObject, JsonValue } from '../values/json-value.ts';
import { type Overlay, overlayOf, type PropertiesOverlay } from './translation.ts';

/** Whether a property is meant, by its name. */
type IsMeant = (name: string) => boolean;

/** The name of the property that a JSON pointer leads into. Of a text that is no pointer it is some text. */
export function propertyOfPointer(pointer: string): string {
  const end = pointer.indexOf('/', 1);
  const key = end === -1 ? pointer.slice(1) : pointer.slice(1, end);
  return key.includes('~') ? key.replaceAll('~1', '/').replaceAll('~0', '~') : key;
}

/**
 * The stored form of translations with the values of some properties only. A locale stays without values, because it is no
 * property: the node is translated to it.
 *
 * @param isMeant whether the values of a property stay
 */
export function translationsWithin(stored: JsonObject | null, isMeant: IsMeant): JsonObject | null {
  if (stored === null) return null;
  return Object.fromEntries(
    Object.keys(stored).map((locale) => [
      locale,
      overlayWithin(overlayOf(stored, locale) as Overlay, isMeant),
    ]),
  );
}

function overlayWithin(overlay: Overlay, isMeant: IsMeant): Overlay {
  if (overlay.type === 'properties') return valuesWithin(overlay, isMeant);
  return overlay.covers === undefined
    ? overlay
    : { ...overlay, covers: valuesWithin(overlay.covers, isMeant) };
}

function valuesWithin({ data, origins, type }: PropertiesOverlay, isMeant: IsMeant): PropertiesOverlay {
  const isKept = (pointer: string): boolean => isMeant(propertyOfPointer(pointer));
  const within = <T>(values: { readonly [pointer: string]: T }): { readonly [pointer: string]: T } =>
    Object.fromEntries(Object.entries(values).filter(([pointer]) => isKept(pointer)));
  return { type, data: within(data), origins: within(origins) };
}

/**
 * An overlay together with the values of another one that it must not take away.
 *
 * @param next null: there is none
 * @param kept the values that stay, from {@link translationsWithin}; undefined: none
 * @returns null when nothing is left
 */
export function overlayWith(next: Overlay | null, kept: Overlay | undefined): Overlay | null {
  const hidden = valuesOf(kept);
  if (hidden === undefined || Object.keys(hidden.data).length === 0) return next;
  const values = valuesOf(next ?? undefined);
  const joined: PropertiesOverlay = {
    type: 'properties',
    data: { ...values?.data, ...hidden.data },
    origins: { ...values?.origins, ...hidden.origins },
  };
  return next?.type === 'hidden' ? { type: 'hidden', covers: joined } : joined;
}

function valuesOf(overlay: Overlay | undefined): PropertiesOverlay | undefined {
  return overlay?.type === 'hidden' ? overlay.covers : overlay;
}

/** The names of the properties in whose values two stored forms of translations differ. */
export function translatedDifferently(
  before: JsonObject | null,
  after: JsonObject | null,
  isEqual: (a: JsonValue, b: JsonValue) => boolean,
): ReadonlySet<string> {
  const names = new Set<string>();
  const locales = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  for (const locale of locales) {
    const from: PropertiesOverlay['data'] = valuesOf(overlayOf(before, locale))?.data ?? {};
    const to: PropertiesOverlay['data'] = valuesOf(overlayOf(after, locale))?.data ?? {};
    for (const pointer of new Set([...Object.keys(from), ...Object.keys(to)])) {
      const [one, other] = [from[pointer], to[pointer]];
      if (one === undefined || other === undefined || !isEqual(one, other))
        names.add(propertyOfPointer(pointer));
    }
  }
  return names;
}
