import { describe, expect, it } from 'vitest';
import { parseLocale, resolveLocaleChain } from '#runtime/content/translations/locale.ts';
import {
  newLanguageSettings,
  patchLanguageSettings,
  translationConfigJson,
} from '#runtime/content/translations/translation-config.ts';

const badValue = expect.objectContaining({ code: 'VALIDATION_FAILED' });

describe('parseLocale', () => {
  it.each([
    ['de', 'de'],
    ['DE', 'de'],
    ['gsw', 'gsw'],
    ['de-ch', 'de-CH'],
    ['es-419', 'es-419'],
    ['zh-Hans', 'zh-HANS'],
  ])('reads %s as %s', (text, locale) => {
    expect(parseLocale(text)).toBe(locale);
  });

  it.each(['', 'd', 'german', 'de_CH', 'de-C', 'de-CHE', 'de-CH-1996', 'de\n', '../x'])(
    'refuses %j',
    (text) => {
      expect(() => parseLocale(text)).toThrowError(badValue);
    },
  );
});

describe('language settings', () => {
  const settings = newLanguageSettings('en', ['de', 'de-ch', 'fr']);

  it('always support the default language [REPO-016, TRANS-025]', () => {
    expect(translationConfigJson(settings)).toEqual({
      default_language: 'en',
      supported_languages: ['en', 'de', 'de-CH', 'fr'],
      locale_fallback_chains: {},
    });
    expect(patchLanguageSettings({ supported_languages: ['fr'] }, settings).supportedLanguages).toEqual([
      'en',
      'fr',
    ]);
  });

  it('take chains of supported languages', () => {
    const patched = patchLanguageSettings({ locale_fallback_chains: { 'de-ch': ['fr', 'DE'] } }, settings);
    expect(patched.fallbackChains).toEqual({ 'de-CH': ['fr', 'de'] });
    expect(patchLanguageSettings({}, patched)).toEqual(patched);
    expect(() => patchLanguageSettings({ supported_languages: ['de-CH', 'de'] }, patched)).toThrowError(
      /'fr' is not/,
    );
  });

  it('refuse another default language, unsupported languages and self-reference', () => {
    const patch = (json: unknown) => () => patchLanguageSettings(json, settings);
    expect(patchLanguageSettings({ default_language: 'EN' }, settings)).toEqual(settings);
    expect(patch({ default_language: 'de' })).toThrowError(badValue);
    expect(patch({ locale_fallback_chains: { de: ['it'] } })).toThrowError(badValue);
    expect(patch({ locale_fallback_chains: { it: ['de'] } })).toThrowError(badValue);
    expect(patch({ locale_fallback_chains: { de: ['fr', 'de'] } })).toThrowError(badValue);
    expect(patch({ supported_languages: ['x'] })).toThrowError(badValue);
    expect(patch({ supported_languages: 'de' })).toThrowError(
      expect.objectContaining({ code: 'UNPROCESSABLE_BODY', field: 'supported_languages' }),
    );
  });

  it('resolve a chain that ends at the default language [TRANS-013]', () => {
    expect(resolveLocaleChain('de-ch', settings)).toEqual(['de-CH', 'de']);
    expect(resolveLocaleChain('de', settings)).toEqual(['de']);
    expect(resolveLocaleChain('en', settings)).toEqual([]);
    expect(resolveLocaleChain('en-GB', settings)).toEqual(['en-GB']);
    const patched = patchLanguageSettings(
      { locale_fallback_chains: { 'de-CH': ['fr', 'en', 'de'] } },
      settings,
    );
    expect(resolveLocaleChain('de-CH', patched)).toEqual(['de-CH', 'fr']);
    expect(() => resolveLocaleChain('?', settings)).toThrowError(badValue);
  });
});
