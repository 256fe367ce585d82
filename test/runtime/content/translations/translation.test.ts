import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import * as translation from '#runtime/content/translations/translation.ts';
import {
  hiddenOverlay,
  isHiddenIn,
  overlayOf,
  TRANSLATIONS_LENGTH_MAX,
  translatedLocales,
  translationsField,
  withOverlay,
} from '#runtime/content/translations/translation.ts';
import type { TranslationRules } from '#runtime/content/translations/translation-check.ts';
import { PointerWalk } from '#runtime/content/translations/translation-pointer.ts';
import { sourceHash as sourceHashInSteps } from '#runtime/content/values/source-hash.ts';
import * as staleness from '#runtime/content/translations/translation-staleness.ts';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import { rulesOf, schemaOf } from '../schema-fixture.ts';

const count = () => {};
const asGiven = (value: JsonValue) => value;
const makeOverlay = (
  base: JsonObject,
  translations: JsonObject,
  now: string,
  rules: TranslationRules | null,
) => atOnce(translation.makeOverlay({ properties: base, now, resolve: asGiven, rules }, 'de', translations));
const storedTranslations = (
  base: JsonObject,
  field: JsonObject,
  now: string,
  rules: TranslationRules | null,
  previous: JsonObject | null = null,
) =>
  atOnce(
    translation.storedTranslations({ properties: base, now, resolve: asGiven, rules }, field, null, previous),
  );
const applyTranslations = (...given: Parameters<typeof translation.applyTranslations>) =>
  atOnce(translation.applyTranslations(...given));
const valueAt = (walk: PointerWalk, ...given: Parameters<PointerWalk['valueAt']>) =>
  atOnce(walk.valueAt(...given));
const replaceAt = (walk: PointerWalk, ...given: Parameters<PointerWalk['replaceAt']>) =>
  atOnce(walk.replaceAt(...given));
const sourceHash = (value: JsonValue) => atOnce(sourceHashInSteps(value, count));
const translationStaleness = (
  base: JsonObject,
  overlay: translation.Overlay | undefined,
  type: ResolvedNodeType | null,
) => atOnce(staleness.translationStaleness(base, overlay, type, count));
const acknowledgeStaleness = (
  overlay: translation.Overlay | undefined,
  pointer: string,
  base: JsonObject,
  now: string,
) => atOnce(staleness.acknowledgeStaleness(overlay, pointer, base, now, count));

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
    expect(isHiddenIn(stored, ['de'])).toBe(true);
    expect(isHiddenIn(stored, ['fr', 'de'])).toBe(true);
    expect(isHiddenIn(stored, ['de-CH', 'de'])).toBe(false);
    expect(isHiddenIn(stored, ['fr'])).toBe(false);
    expect(isHiddenIn(null, ['de'])).toBe(false);
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
          : rulesOf({
              nodeTypes: [
                { name: type, properties: [{ name: 'count', type: 'Number', is_translatable: false }] },
              ],
            }),
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

  it('distinguishes stale, missing, fresh and unknown', () => {
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

  it('misses no part of a reference or a link', () => {
    const link = { 'svc:ref': 'id', 'svc:workspace': 'people', 'svc:path': '/a', label: 'More' };
    const { missing } = translationStaleness({ link, url: { 'svc:url': 'https://a.b' } }, undefined, null);
    expect(missing.map(({ pointer }) => pointer)).toEqual(['/link/label']);
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

  it('hashes by content, with any order of keys', () => {
    expect(sourceHash({ a: 1, b: 2 })).toBe(sourceHash({ b: 2, a: 1 }));
    expect(sourceHash('a')).not.toBe(sourceHash(['a']));
  });
});

describe('what is large', () => {
  const large = 'x'.repeat(1024 * 1024);

  it('is hashed in steps, to the hash of its whole text', () => {
    const value: JsonObject = {
      10: ['a', large, { 9: `"${large}😀`.repeat(2), 10: [] }],
      9: { __proto: 1, text: '\ud800' },
      list: Array.from({ length: 30_000 }, (_, index) => ({ z: index, a: null })),
    };
    const counted: number[] = [];
    const hash = atOnce(sourceHashInSteps(value, (characters) => counted.push(characters)));
    expect(hash).toBe(createHash('sha256').update(canonicalJson(value)).digest('hex'));
    expect(Math.max(...counted)).toBeLessThan(200_000);
    expect(counted.reduce((sum, each) => sum + each, 0)).toBe(canonicalJson(value).length);
  });

  it('is refused as translations of one node together', () => {
    const data = { '/a': 'x'.repeat(TRANSLATIONS_LENGTH_MAX / 2) };
    expect(() => makeOverlay({}, { ...data, '/b': data['/a'] }, 't', null)).toThrowError(badValue);
    const half = { a: data['/a'] };
    expect(storedTranslations({}, { de: half }, 't', null)).not.toBeNull();
    expect(() => storedTranslations({}, { de: half, fr: half }, 't', null)).toThrowError(badValue);
  });

  it('is not hashed again and again for values within values', () => {
    let nested: JsonValue = large;
    const data: Record<string, string> = {};
    let pointer = '';
    for (let depth = 0; depth < 100; depth += 1) {
      nested = { a: nested };
      pointer += '/a';
      data[pointer] = 'b';
    }
    expect(() => makeOverlay(nested as JsonObject, data, 't', null)).toThrowError(badValue);
  });

  it('is read and copied once, however many pointers lead into it', () => {
    let reads = 0;
    const items = Array.from({ length: 2_000 }, (_, index) => ({
      get uuid() {
        reads += 1;
        return `u${index}`;
      },
      text: 'a',
    })) as unknown as JsonObject[];
    const base: JsonObject = { items };
    const walk = new PointerWalk();
    let shown: JsonValue = base;
    const copies = new Set<unknown>();
    for (let index = 0; index < 2_000; index += 1) {
      shown = replaceAt(walk, shown, ['items', `u${index}`, 'text'], 'b');
      copies.add((shown as JsonObject).items);
    }
    expect(copies.size).toBe(1);
    // Without what it remembers it were two million.
    expect(reads).toBeLessThan(20_000);
    expect((shown as JsonObject).items).toEqual(items.map(({ uuid }) => ({ uuid, text: 'b' })));
    expect(items[7]).toMatchObject({ text: 'a' });
  });

  it('finds an item that was replaced by its new uuid', () => {
    const walk = new PointerWalk();
    const base: JsonObject = { list: [{ uuid: 'a', text: '1' }] };
    const replaced = replaceAt(walk, base, ['list', 'a'], { uuid: 'b', text: '2' });
    expect(replaceAt(walk, replaced, ['list', 'a', 'text'], '3')).toBe(replaced);
    expect(replaced).toEqual({ list: [{ uuid: 'b', text: '2' }] });
    expect(replaceAt(walk, replaced, ['list', 'b', 'text'], '3')).toEqual({
      list: [{ uuid: 'b', text: '3' }],
    });
    expect(base).toEqual({ list: [{ uuid: 'a', text: '1' }] });
  });

  it('leads to the first of several items with one uuid', () => {
    const base: JsonObject = { list: ['1', '2'].map((text) => ({ uuid: 'a', text })) };
    expect(valueAt(new PointerWalk(), base, ['list', 'a', 'text'])).toBe('1');
    expect(replaceAt(new PointerWalk(), base, ['list', 'a', 'text'], '3')).toEqual({
      list: [
        { uuid: 'a', text: '3' },
        { uuid: 'a', text: '2' },
      ],
    });
  });

  it('leads to the next item of a uuid once the first one was replaced by another', () => {
    const walk = new PointerWalk();
    const item = (uuid: string, text: string): JsonObject => ({ uuid, text });
    const list = ['1', '2', '3'].map((text) => item('a', text));
    let shown: JsonValue = { list: [...list, item('c', '4')] };
    for (const [pointer, value] of [
      [['list', 'a'], item('b', 'b')],
      [['list', 'a'], item('c', 'c')],
      [['list', 'c'], item('d', 'd')],
      [['list', 'a', 'text'], 'third'],
      [['list', 'c', 'text'], 'fourth'],
      [['list', 'a'], item('b', 'bb')],
      [['list', 'b'], item('e', 'e')],
      [['list', 'b', 'text'], 'fifth'],
    ] as const) {
      shown = replaceAt(walk, shown, pointer, value);
    }
    expect(shown).toEqual({
      list: [item('e', 'e'), item('d', 'd'), item('b', 'fifth'), item('c', 'fourth')],
    });
  });

  it('is read in steps, also through pointers into it', () => {
    let reads = 0;
    const items = Array.from({ length: 3_000 }, (_, index) => ({
      get uuid() {
        reads += 1;
        return `u${index}`;
      },
      text: 'a',
    })) as unknown as JsonObject[];
    const base: JsonObject = { items };
    const pointer = '/items/u1/text';
    const overlay = makeOverlay(base, { [pointer]: 'b' }, 't', null);
    for (const work of [
      translation.makeOverlay({ properties: base, now: 't', resolve: asGiven, rules: null }, 'de', {
        [pointer]: 'b',
      }),
      translation.storedTranslations(
        { properties: base, now: 't', resolve: asGiven, rules: null },
        { de: { [pointer]: 'b' } },
        null,
      ),
      translation.applyTranslations(base, withOverlay(null, 'de', overlay), ['de']),
      staleness.acknowledgeStaleness(overlay, pointer, base, 't', count),
      staleness.translationStaleness(base, overlay, null, count),
      staleness.translationStaleness(base, undefined, null, count),
    ]) {
      const readsOfSteps: number[] = [];
      let isDone: boolean | undefined;
      do {
        reads = 0;
        isDone = work.next().done;
        readsOfSteps.push(reads);
      } while (isDone !== true);
      expect(Math.max(...readsOfSteps)).toBeLessThan(1_000);
      expect(readsOfSteps.length).toBeGreaterThan(3);
    }
  });

  it('is compared with its translation in steps, whether its texts are translated, missing or none', () => {
    const items = Array.from({ length: 1_000 }, (_, index) => ({ uuid: `u${index}`, text: 'a', size: 1 }));
    const covered = makeOverlay({ items }, { '/items': [] }, 't', null);
    const marks: JsonObject = Object.fromEntries(items.map(({ uuid }) => [uuid, 1]));
    for (const [base, overlay] of [
      [{ items }, covered],
      [{ items }, undefined],
      [{ marks }, undefined],
    ] as const) {
      let steps = 0;
      const work = staleness.translationStaleness(base, overlay, null, count);
      while (work.next().done !== true) steps += 1;
      expect(steps).toBeGreaterThanOrEqual(1_000);
    }
  });
});

describe('a patch of the field translations', () => {
  const patched = (stored: JsonObject | null, patch: JsonObject) =>
    atOnce(translation.patchedTranslations(stored, patch));
  const hidden = { type: 'hidden' };
  const properties = { title: 'One', text: 'Text', meta: { a: 1 } };
  const stored = storedTranslations(
    properties,
    { de: { title: 'Eins', text: 'Worte' }, fr: { title: 'Un' } },
    't',
    null,
  );

  it('changes the values it names, by name or pointer, and removes those of null', () => {
    expect(patched(stored, { de: { '/title': 'Neu', text: null, '/meta/a': 2 } })).toEqual({
      de: { title: 'Neu', '/meta/a': 2 },
      fr: { title: 'Un' },
    });
    expect(patched(null, { de: { title: 'Neu' } })).toEqual({ de: { title: 'Neu' } });
    expect(patched(stored, {})).toEqual({ de: { title: 'Eins', text: 'Worte' }, fr: { title: 'Un' } });
    expect(patched(stored, { de: { type: 'properties', data: { '/title': 'Neu' } } }).de).toEqual({
      title: 'Neu',
      text: 'Worte',
    });
  });

  it('removes a locale of null, with any name', () => {
    expect(patched(stored, { DE: null, it: null })).toEqual({ fr: { title: 'Un' } });
    expect(patched(stored, { de: null, fr: null })).toEqual({});
  });

  it('hides the node in a locale, and shows it again as it was translated', () => {
    const field = patched(stored, { de: hidden });
    expect(field).toEqual({ de: hidden, fr: { title: 'Un' } });
    const concealed = storedTranslations(properties, field, 't', null, stored);
    expect(patched(concealed, { de: {} }).de).toEqual(hidden);
    expect(patched(concealed, { de: { type: null } }).de).toEqual({ title: 'Eins', text: 'Worte' });
    expect(patched(concealed, { de: { type: null, title: 'Neu' } }).de).toEqual({
      title: 'Neu',
      text: 'Worte',
    });
    expect(() => patched(concealed, { de: { title: 'Neu' } })).toThrow(/hidden in 'de'/);
    expect(() => patched(stored, { de: { type: 'hidden', title: 'x' } })).toThrow(/hidden in 'de'/);
  });

  it('refuses what is no patch of it', () => {
    expect(() => patched(stored, { de: 'x' })).toThrow(/translations\.de/);
    expect(() => patched(stored, { nonsense: {} })).toThrow(/not a locale/);
  });
});
