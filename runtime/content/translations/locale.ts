import { invalid } from '#runtime/errors/service-error.ts';

/** The most locales a repository may support, and the longest fallback chain. */
export const LOCALES_MAX = 200;

/** Languages of a repository. */
export interface LanguageSettings {
  /** The language of the properties themselves. */
  readonly defaultLanguage: string;
  readonly supportedLanguages: readonly string[];
  /** For each locale its fallback locales, in order. */
  readonly fallbackChains: Readonly<Record<string, readonly string[]>>;
}

const shape = /^([a-z]{2,3})(?:-([a-z]{2}|\d{3}|[a-z]{4}))?$/i;

/**
 * Reads a locale: a language, optionally a region or a script. The language becomes lower-case, the rest
 * upper-case (`de-CH`, `zh-HANS`).
 *
 * @param field the field or parameter it comes from, for the message
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/translations.md#locales
 */
export function parseLocale(text: string, field = 'locale'): string {
  const match = shape.exec(text);
  if (match === null) {
    throw invalid(`'${text.slice(0, 40)}' is not a locale; it reads de, de-CH, es-419 or zh-HANS`, { field });
  }
  const language = match[1]!.toLowerCase();
  return match[2] === undefined ? language : `${language}-${match[2].toUpperCase()}`;
}

/**
 * Checks that content may be written in a locale: a repository holds content in its own languages only.
 *
 * @param locale from {@link parseLocale}
 * @returns the error text; null when the repository supports the locale
 * @see docs/interface/translations.md#languages-of-a-repository
 */
export function unsupportedLocale(
  locale: string,
  { defaultLanguage, supportedLanguages }: LanguageSettings,
): string | null {
  if (locale === defaultLanguage || supportedLanguages.includes(locale)) return null;
  return `'${locale}' is not a supported language of the repository; add it to supported_languages of its translation-config first`;
}

/**
 * The locales whose overlays apply to a read, most specific first. The default language ends the chain and is not part
 * of it, because the properties themselves are in that language.
 *
 * @param text the locale, as a caller wrote it
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/translations.md#reading-in-a-locale
 */
export function resolveLocaleChain(text: string, settings: LanguageSettings): readonly string[] {
  const locale = parseLocale(text, 'lang');
  const configured = Object.hasOwn(settings.fallbackChains, locale) ? settings.fallbackChains[locale]! : null;
  const language = locale.split('-', 1)[0]!;
  const chain = [...new Set([locale, ...(configured ?? [language])])];
  const end = chain.indexOf(settings.defaultLanguage);
  return end === -1 ? chain : chain.slice(0, end);
}
