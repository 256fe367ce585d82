import { describe, expect, it } from 'vitest';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { LanguageSettings } from '#runtime/content/translations/locale.ts';
import {
  makeOverlay,
  overlayOf,
  storedTranslations,
  translationsField,
} from '#runtime/content/translations/translation.ts';
import type { TranslationRules } from '#runtime/content/translations/translation-check.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { rulesOf } from '../schema-fixture.ts';

const article = rulesOf({
  nodeTypes: [
    {
      name: 'site:Article',
      strict: true,
      properties: [
        { name: 'title', type: 'String', constraints: { maxLength: 5 } },
        { name: 'n', type: 'Number' },
        { name: 'tags', type: 'Array', constraints: { uniqueItems: true, minItems: 1 } },
        {
          name: 'seo',
          type: 'Object',
          structure: { text: { type: 'String' }, rank: { type: 'Number' } },
        },
        { name: 'sections', type: 'Array', items: { type: 'Element' } },
      ],
    },
  ],
  elementTypes: [
    {
      name: 'site:Text',
      strict: true,
      fields: [
        { $type: 'TextField', name: 'text', config: { max_length: 5 } },
        { $type: 'LocationField', name: 'where' },
      ],
    },
  ],
});

const properties: JsonObject = {
  title: 'Title',
  n: 1,
  tags: ['a', 'b'],
  seo: { text: 'About', rank: 1 },
  sections: [
    { uuid: 'a', element_type: 'site:Text', text: 'First' },
    { uuid: 'b', element_type: 'site:Text', text: 'Other' },
  ],
};

const asGiven = (value: JsonValue) => value;
const languages: LanguageSettings = {
  defaultLanguage: 'en',
  supportedLanguages: ['en', 'de', 'fr'],
  fallbackChains: {},
};

const translate = (data: JsonObject, base = properties, rules: TranslationRules | null = article) =>
  atOnce(makeOverlay({ properties: base, now: 't', resolve: asGiven, rules }, 'de', data));

/** What a translation is refused with; empty when it is taken. */
function messagesOf(work: () => unknown): readonly string[] {
  try {
    work();
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(ServiceError);
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', field: 'translations' });
    return (error as ServiceError).details?.errors as string[];
  }
}

const refusals = (data: JsonObject, base = properties, rules: TranslationRules | null = article) =>
  messagesOf(() => translate(data, base, rules));

describe('the values of a translation [TRANS-028]', () => {
  it.each<[string, JsonObject, string]>([
    ['another type', { '/n': 'none' }, "Property 'n' must be a number"],
    ['an object for a text', { '/title': { evil: [1] } }, "Property 'title' must be a string"],
    ['a broken constraint', { '/title': 'Ausgangslage' }, "Property 'title' must have at most 5 characters"],
    [
      'an undeclared property of a strict type',
      { '/undeclared': 1 },
      "Undefined property 'undeclared' in strict mode for NodeType 'site:Article'",
    ],
    ['another type below', { '/seo/rank': 'x' }, "Property 'seo.rank' must be a number"],
    ['another type within an object', { '/seo': { rank: 'x' } }, "Property 'seo.rank' must be a number"],
    [
      'an array that breaks its own rule',
      { '/tags': ['a', 'a'] },
      "Property 'tags' must not have an item twice",
    ],
    [
      'a field of an element of another type',
      { '/sections/b/text': 1 },
      "Property 'sections.1.text' must be a string",
    ],
    ['a text too long for a field', { '/sections/b/text': 'Sonstiges' }, "Property 'sections.1.text'"],
    ['an undeclared field of a strict element', { '/sections/b/other': 1 }, "'other'"],
  ])('are refused for %s', (_, data, message) => {
    const found = refusals(data);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`Translation to 'de': `);
    expect(found[0]).toContain(message);
  });

  it('are taken where the property would take them, null for one', () => {
    const data = {
      '/title': 'Titel',
      '/n': null,
      '/seo/text': 'Über',
      '/tags': ['c'],
      '/sections/b/text': 'Zwei',
      '/sections/gone/text': 'no item of this uuid',
    };
    expect(translate(data).data).toEqual(data);
  });

  it('are all reported at once, with every kind of error', () => {
    const found = refusals({
      title: 'x',
      '/n': 'x',
      '/slug': 'x',
      '/title/deeper': 'x',
      '/undeclared': 1,
      '/sections/a/text': 2,
      '/tags': [],
    });
    expect(found).toHaveLength(7);
    for (const part of [
      "'title' is not a JSON pointer",
      "'n'",
      "'slug'",
      'deeper',
      'undeclared',
      'sections.0',
      'tags',
    ])
      expect(found.filter((each) => each.includes(part))).toHaveLength(1);
  });

  it('are not refused for what was wrong before', () => {
    const old = {
      ...properties,
      tags: ['a', 'a'],
      sections: [
        { uuid: 'a', element_type: 'site:Text', text: 7 },
        (properties.sections as JsonObject[])[1]!,
      ],
      seo: { rank: 'x', text: 'About' },
    };
    const data = { '/title': 'Titel', '/sections/b/text': 'Zwei', '/seo/text': 'Über' };
    expect(translate(data, old).data).toEqual(data);
    // What replaces something wrong is no less wrong for it.
    expect(refusals({ '/sections/a/text': 8, '/seo/rank': 'y', '/tags': ['a', 'a'] }, old)).toHaveLength(3);
  });

  it('are stored in the form a property is', () => {
    const data = {
      '/sections/b/where': { lat: 1, lng: 2 },
      '/sections/a': { uuid: 'a', element_type: 'site:Text', content: { text: 'Eins' } },
    };
    expect(translate(data).data).toEqual({
      '/sections/b/where': { type: 'Point', coordinates: [2, 1] },
      '/sections/a': { uuid: 'a', element_type: 'site:Text', text: 'Eins' },
    });
  });

  it('follow the archetype too', () => {
    const rules = rulesOf(
      {
        nodeTypes: [{ name: 'site:Page' }],
        archetypes: [
          { name: 'site:Landing', strict: true, fields: [{ $type: 'NumberField', name: 'size' }] },
        ],
      },
      'site:Landing',
    );
    const base = { size: 1 };
    expect(refusals({ '/size': 'x' }, base, rules)).toHaveLength(1);
    expect(refusals({ '/other': 'x' }, base, rules)[0]).toContain("for Archetype 'site:Landing'");
    expect(refusals({ '/size': 2 }, base, rules)).toEqual([]);
  });

  it('are anything where the type of the node is gone', () => {
    expect(refusals({ '/n': 'x', '/undeclared': 1 }, properties, null)).toEqual([]);
  });

  it('are checked on account of the request, and property by property', () => {
    const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
    const wide = rulesOf({
      nodeTypes: [
        {
          name: 'site:Wide',
          properties: names.map((name) => ({ name, type: 'String', constraints: { pattern: '^(a|b)+c?$' } })),
        },
      ],
    });
    const base = Object.fromEntries(names.map((name) => [name, 'ab']));
    const data = Object.fromEntries(names.map((name) => [`/${name}`, 'ab'.repeat(500)]));
    const budget = new RequestBudget();
    let steps = 0;
    const node = { properties: base, now: 't', resolve: asGiven, rules: { ...wide, budget } };
    const work = makeOverlay(node, 'de', data);
    const spentInSteps: number[] = [];
    for (let before = budget.work, isDone: boolean | undefined = false; isDone !== true; steps += 1) {
      isDone = work.next().done;
      spentInSteps.push(budget.work - before);
      before = budget.work;
    }
    expect(budget.work).toBeGreaterThan(0);
    expect(Math.max(...spentInSteps)).toBeLessThan(budget.work / 10);
    expect(steps).toBeGreaterThan(names.length);
  });
});

describe('the field translations [TRANS-028]', () => {
  const store = (field: JsonObject, previous: JsonObject | null = null, rules = article) =>
    atOnce(storedTranslations({ properties, now: 't', resolve: asGiven, rules }, field, languages, previous));

  it('is held against the same rules, with the complaints about all locales', () => {
    const found = messagesOf(() => store({ de: { n: 'x' }, fr: { undeclared: 1 }, sw: { title: 'T' } }));
    expect(found).toEqual([
      expect.stringContaining("Translation to 'de': Property 'n'"),
      expect.stringContaining("Translation to 'fr': Undefined property 'undeclared'"),
      expect.stringContaining("Translation to 'sw': 'sw' is not a supported language"),
    ]);
  });

  it('takes back what was stored before there were rules, and what is hidden', () => {
    const before = atOnce(
      storedTranslations(
        { properties, now: 't0', resolve: asGiven, rules: null },
        { de: { n: 'x', undeclared: 1 }, sw: { title: 'Kichwa' }, es: { type: 'hidden' } },
        null,
      ),
    );
    const read = translationsField(before!);
    expect(store(read, before)).toEqual(before);
    const edited = { ...read, de: { n: 'x', undeclared: 1, title: 'Titel' } };
    expect(overlayOf(store(edited, before), 'de')).toMatchObject({ data: { '/n': 'x', '/title': 'Titel' } });
    expect(messagesOf(() => store({ ...read, de: { n: 'y' } }, before))).toHaveLength(1);
    expect(messagesOf(() => store({ ...read, sw: { title: 'Other' } }, before))).toHaveLength(1);
    expect(messagesOf(() => store({ it: { type: 'hidden' } }, before))).toHaveLength(1);
    expect(translationsField(store({ de: { title: 'Titel' } }, before)!)).toEqual({ de: { title: 'Titel' } });
  });
});
