import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/json-value.ts';
import {
  applyTranslations,
  hiddenOverlay,
  makeOverlay,
  overlayOf,
  storedTranslations,
  translatedLocales,
  translationsField,
  withOverlay,
} from '#runtime/content/translation.ts';
import {
  acknowledgeStaleness,
  sourceHash,
  translationStaleness,
} from '#runtime/content/translation-staleness.ts';
import { schemaOf } from './schema-fixture.ts';

const badValue = expect.objectContaining({ code: 'VALIDATION_FAILED' });
const properties: JsonObject = {
  title: 'Title',
  slug: 'title',
  seo: { description: 'About', weight: 1 },
  body: [
    { uuid: 'a', element_type: 'e:Text', text: 'First' },
    { uuid: 'b', element_type: 'e:Text', text: 'Second' },
  ],
  'a/b': 'Slash',
  count: 3,
};

describe('applyTranslations', () => {
  const overlay = (data: JsonObject, base = properties) => makeOverlay(base, data, 't', null);

  it('replaces values by pointer, through arrays by uuid', () => {
    const stored = withOverlay(
      null,
      'de',
      overlay({
        '/title': 'Titel',
        '/seo/description': 'Über',
        '/body/b/text': 'Zweites',
        '/a~1b': 'Strich',
        '/new': 'neu',
      }),
    );
    const translated = applyTranslations(properties, stored, ['de']);
    expect(translated).toEqual({
      ...properties,
      title: 'Titel',
      seo: { description: 'Über', weight: 1 },
      body: [
        { uuid: 'a', element_type: 'e:Text', text: 'First' },
        { uuid: 'b', element_type: 'e:Text', text: 'Zweites' },
      ],
      'a/b': 'Strich',
      new: 'neu',
    });
    expect(properties.title).toBe('Title');
  });

  it('lets the most specific locale win and falls back value by value [TRANS-012]', () => {
    let stored = withOverlay(null, 'de', overlay({ '/title': 'Titel', '/seo/description': 'Über' }));
    stored = withOverlay(stored, 'de-CH', overlay({ '/title': 'Titu' }));
    expect(applyTranslations(properties, stored, ['de-CH', 'de'])).toMatchObject({
      title: 'Titu',
      seo: { description: 'Über' },
    });
  });

  it('hides by the first overlay of the chain alone', () => {
    const stored = withOverlay(
      withOverlay(null, 'de', hiddenOverlay),
      'de-CH',
      overlay({ '/title': 'Titu' }),
    );
    expect(applyTranslations(properties, stored, ['de'])).toBe('hidden');
    expect(applyTranslations(properties, stored, ['fr', 'de'])).toBe('hidden');
    expect(applyTranslations(properties, stored, ['de-CH', 'de'])).toMatchObject({ title: 'Titu' });
  });

  it('ignores what is no longer there', () => {
    const stored = withOverlay(
      null,
      'de',
      overlay({ '/body/b/text': 'Zweites', '/seo/description': 'Über' }),
    );
    const edited = { title: 'x', body: [{ uuid: 'a', text: 'First' }], seo: 'plain' };
    expect(applyTranslations(edited, stored, ['de'])).toBe(edited);
    expect(applyTranslations(edited, null, ['de'])).toBe(edited);
    expect(applyTranslations(edited, stored, [])).toBe(edited);
  });
});

describe('makeOverlay', () => {
  const make =
    (data: JsonObject, type: 't:Thing' | null = null) =>
    () =>
      makeOverlay(
        properties,
        data,
        't',
        type === null
          ? null
          : schemaOf({
              nodeTypes: [
                { name: type, properties: [{ name: 'count', type: 'Number', is_translatable: false }] },
              ],
            }).resolved.nodeType(type)!,
      );

  it('refuses an empty map, bad pointers, places under scalars and keys that identify', () => {
    for (const data of [
      {},
      { title: 'x' },
      { '': 'x' },
      { '/': 'x' },
      { '/a~2': 'x' },
      { '/title/x': 'x' },
      { '/missing/x': 'x' },
      { '/slug': 'x' },
      { '/seo/weight': 2 },
      { '/body/a/uuid': 'x' },
      { '/body/a/element_type': 'x' },
      { [`/${'k'.repeat(1_024)}`]: 'x' },
      { ['/a'.repeat(129)]: 'x' },
    ]) {
      expect(make(data), JSON.stringify(data)).toThrowError(badValue);
    }
  });

  it('takes the uuid of an item that is not there, which reads ignore [TRANS-010]', () => {
    const stored = withOverlay(null, 'de', make({ '/body/zzz/text': 'x' })());
    expect(applyTranslations(properties, stored, ['de'])).toBe(properties);
  });

  it('refuses a property the type declares not translatable', () => {
    expect(make({ '/count': 4 })).not.toThrow();
    expect(make({ '/count': 4 }, 't:Thing')).toThrowError(/not translatable/);
  });

  it('takes a pointer into __proto__ as data', () => {
    const base = JSON.parse('{"__proto__": {"x": "a"}}') as JsonObject;
    const stored = withOverlay(null, 'de', makeOverlay(base, { '/__proto__/x': 'b' }, 't', null));
    expect(JSON.stringify(applyTranslations(base, stored, ['de']))).toBe('{"__proto__":{"x":"b"}}');
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });
});

describe('the field translations', () => {
  it('round trips: what is read can be written back and keeps its origins', () => {
    const field = {
      de: { title: 'Titel', '/seo/description': 'Über', '/type': 'x' },
      fr: { type: 'hidden' },
    };
    const stored = storedTranslations(properties, field, 't1', null);
    expect(translationsField(stored!)).toEqual(field);
    expect(translatedLocales(stored)).toEqual(['de', 'fr']);
    const edited = { ...properties, title: 'New title', seo: 'gone' };
    const again = storedTranslations(edited, translationsField(stored!), 't2', null, stored);
    expect(again).toEqual(stored);
    const changed = storedTranslations(edited, { de: { title: 'Neuer Titel' } }, 't2', null, stored);
    expect(overlayOf(changed, 'de')).toMatchObject({
      origins: { '/title': { hash: sourceHash('New title'), translated_at: 't2' } },
    });
  });

  it('takes overlays too, normalises locales, drops empty ones', () => {
    const field = { 'DE-ch': { type: 'properties', data: { '/title': 'Titu' } }, it: {}, es: null };
    expect(translationsField(storedTranslations(properties, field, 't', null)!)).toEqual({
      'de-CH': { title: 'Titu' },
    });
    expect(storedTranslations(properties, { it: {} }, 't', null)).toBeNull();
  });

  it('refuses wrong shapes and places', () => {
    expect(() => storedTranslations(properties, { de: 'x' }, 't', null)).toThrowError(
      expect.objectContaining({ code: 'UNPROCESSABLE_BODY' }),
    );
    expect(() => storedTranslations(properties, { german: {} }, 't', null)).toThrowError(badValue);
    expect(() => storedTranslations(properties, { de: { slug: 'x' } }, 't', null)).toThrowError(badValue);
  });

  it('loses a locale that is removed, and is null without any', () => {
    const stored = withOverlay(null, 'de', hiddenOverlay);
    expect(withOverlay(stored, 'de', null)).toBeNull();
    expect(withOverlay(stored, 'fr', null)).toEqual({ de: { type: 'hidden' } });
  });
});

describe('staleness', () => {
  const overlay = makeOverlay(
    properties,
    { '/title': 'Titel', '/seo': { description: 'Über' }, '/extra': 'x' },
    't1',
    null,
  );

  it('tells stale, missing, fresh and unknown apart', () => {
    const edited = { ...properties, title: 'Changed' };
    expect(translationStaleness(edited, overlay, null)).toEqual({
      stale: [
        {
          pointer: '/title',
          original_hash_at_translation: sourceHash('Title'),
          current_original_hash: sourceHash('Changed'),
          translated_at: 't1',
        },
      ],
      missing: ['/body/a/text', '/body/b/text', '/a~1b'].map((pointer) => ({
        pointer,
        current_original_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      })),
      fresh: ['/seo'],
      unknown: ['/extra'],
    });
  });

  it('counts only marked properties when the type marks any', () => {
    const { resolved } = schemaOf({
      nodeTypes: [
        { name: 't:Thing', properties: [{ name: 'title', type: 'String', is_translatable: true }] },
      ],
    });
    const { missing } = translationStaleness(properties, undefined, resolved.nodeType('t:Thing')!);
    expect(missing).toEqual([{ pointer: '/title', current_original_hash: sourceHash('Title') }]);
    expect(translationStaleness(properties, hiddenOverlay, null)).toMatchObject({ missing: [] });
  });

  it('can be acknowledged, pointer by pointer', () => {
    const edited = { ...properties, title: 'Changed' };
    const acknowledged = acknowledgeStaleness(overlay, '/title', edited, 't2');
    expect(translationStaleness(edited, acknowledged, null)).toMatchObject({
      stale: [],
      fresh: ['/title', '/seo'],
    });
    expect(() => acknowledgeStaleness(overlay, '/count', edited, 't2')).toThrowError(badValue);
    expect(() => acknowledgeStaleness(undefined, '/title', edited, 't2')).toThrowError(badValue);
    expect(() => acknowledgeStaleness(hiddenOverlay, '/title', edited, 't2')).toThrowError(badValue);
  });

  it('hashes by content, whatever the order of keys', () => {
    expect(sourceHash({ a: 1, b: 2 })).toBe(sourceHash({ b: 2, a: 1 }));
    expect(sourceHash('a')).not.toBe(sourceHash(['a']));
  });
});
