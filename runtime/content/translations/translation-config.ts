import { KnownNames } from '#runtime/errors/known-names.ts';
import { DefinitionReader } from '../definitions/definition-reader.ts';
import { LOCALES_MAX, type LanguageSettings, parseLocale } from './locale.ts';

/** Fields of the language settings of a repository. */
export const translationConfigFields: KnownNames = new KnownNames([
  'default_language',
  'supported_languages',
  'locale_fallback_chains',
]);

/** The answer of `GET …/translation-config`. @see docs/interface/translations.md#languages-of-a-repository */
export function translationConfigJson(settings: LanguageSettings): {
  readonly default_language: string;
  readonly supported_languages: readonly string[];
  readonly locale_fallback_chains: Readonly<Record<string, readonly string[]>>;
} {
  return {
    default_language: settings.defaultLanguage,
    supported_languages: settings.supportedLanguages,
    locale_fallback_chains: settings.fallbackChains,
  };
}

/**
 * The languages of a new repository. The default language is always among the supported ones.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function newLanguageSettings(
  defaultLanguage: string,
  supportedLanguages: readonly string[],
): LanguageSettings {
  const fallback = parseLocale(defaultLanguage, 'default_language');
  const supported = supportedLanguages.map((locale) => parseLocale(locale, 'supported_languages'));
  return Object.freeze({
    defaultLanguage: fallback,
    supportedLanguages: withDefault(supported, fallback),
    fallbackChains: Object.freeze({}),
  });
}

/**
 * Reads the body of `PATCH …/translation-config`; keys it leaves out are unchanged.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY` for a wrong type; `VALIDATION_FAILED` for a bad locale, for another
 *   default language, for a chain that names itself or a language that is not supported, and for an unknown field
 * @see docs/interface/translations.md#languages-of-a-repository
 */
export function patchLanguageSettings(json: unknown, current: LanguageSettings): LanguageSettings {
  const reader = DefinitionReader.whole(json);
  const wanted = reader.optionalString('default_language');
  if (wanted !== null && parseLocale(wanted, 'default_language') !== current.defaultLanguage) {
    throw reader.badValue('default_language', 'the default language of a repository cannot be changed');
  }
  const supported =
    reader.raw('supported_languages') === undefined
      ? current.supportedLanguages
      : reader.strings('supported_languages').map((locale) => parseLocale(locale, 'supported_languages'));
  const supportedLanguages = withDefault(supported, current.defaultLanguage);
  if (supportedLanguages.length > LOCALES_MAX) {
    throw reader.badValue('supported_languages', `at most ${LOCALES_MAX} languages`);
  }
  const chains = reader.optionalObject('locale_fallback_chains');
  reader.refuseOthers(translationConfigFields);
  const fallbackChains = chains === null ? current.fallbackChains : readChains(reader, supportedLanguages);
  // A removed language must not remain in a chain that was configured earlier.
  if (chains === null) requireSupportedChains(reader, fallbackChains, supportedLanguages);
  return Object.freeze({ defaultLanguage: current.defaultLanguage, supportedLanguages, fallbackChains });
}

function withDefault(supported: readonly string[], fallback: string): readonly string[] {
  return Object.freeze([...new Set(supported.includes(fallback) ? supported : [fallback, ...supported])]);
}

function readChains(
  body: DefinitionReader,
  supported: readonly string[],
): Readonly<Record<string, readonly string[]>> {
  const reader = new DefinitionReader(
    body.raw('locale_fallback_chains'),
    body.place('locale_fallback_chains'),
  );
  const chains = Object.fromEntries(
    Object.keys(reader.json).map((key) => {
      const locale = parseLocale(key, 'locale_fallback_chains');
      const chain = reader.strings(key).map((each) => parseLocale(each, 'locale_fallback_chains'));
      return [locale, Object.freeze([...new Set(chain)])];
    }),
  );
  requireSupportedChains(body, chains, supported);
  return Object.freeze(chains);
}

function requireSupportedChains(
  body: DefinitionReader,
  chains: Readonly<Record<string, readonly string[]>>,
  supported: readonly string[],
): void {
  for (const [locale, chain] of Object.entries(chains)) {
    if (chain.includes(locale)) {
      throw body.badValue('locale_fallback_chains', `the chain of '${locale}' names itself`);
    }
    const unknown = [locale, ...chain].find((each) => !supported.includes(each));
    if (unknown !== undefined) {
      throw body.badValue('locale_fallback_chains', `'${unknown}' is not a supported language`);
    }
  }
}
