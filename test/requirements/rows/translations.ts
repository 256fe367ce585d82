// biome-ignore-all format: one row a line, so that a row is one line in searches, in diffs and in `gate.ts --write`
import type { Requirement } from '../requirement.ts';

/** Requirement rows: translations. */
export const translationsRows: readonly Requirement[] = [
  { id: 'TRANS-001', document: 2, section: 'Translations', status: 'verified', theme: 'rest-content', behaviour: '`translations` of a node holds the property overrides per locale, null when there are none' },
  { id: 'TRANS-002', document: 2, section: 'Translations', status: 'verified', theme: 'rest-content', behaviour: 'GET with `?lang=xx` answers the node with the translated values in `properties`' },
  { id: 'TRANS-003', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'translate de answers `{node_id, locale, revision, timestamp}`; then `?lang=de` is translated and without it is the base', covers: ['3/48'] },
  { id: 'TRANS-004', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'translate with an empty map, a bad locale or a bad pointer answers 400', covers: ['3/49'] },
  { id: 'TRANS-005', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'hide-in-locale makes `?lang=de` 404 and drops the node from lists; unhide-in-locale answers 204 and restores it', covers: ['3/50'] },
  { id: 'TRANS-006', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'delete-translation answers 204 and the base value shows again', covers: ['3/51'] },
  { id: 'TRANS-007', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'translate replaces the locale\'s overlay instead of merging with the one before' },
  { id: 'TRANS-008', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'A locale is a language of 2 or 3 letters with an optional region of 2 letters, 3 digits or a 4-letter script; its spelling is normalised (`de-ch` is `de-CH`)' },
  { id: 'TRANS-009', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'Pointers step through objects by key and through arrays by item `uuid`; a non-object on the way answers 400' },
  { id: 'TRANS-010', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'An unknown item uuid in an overlay is ignored on read' },
  { id: 'TRANS-011', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'The keys uuid, id, element_type, slug, node_type, archetype, parent, order, sort_order and weight cannot be translated' },
  { id: 'TRANS-012', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: '`?lang=` follows the configured fallback chain, the most specific locale winning per value' },
  { id: 'TRANS-013', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'Without a configured chain the fallback is locale, bare language, default language' },
  { id: 'TRANS-014', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: '`?lang=` of the default language answers the base properties' },
  { id: 'TRANS-015', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'Listings, tree reads and paged reads with `?lang=` are translated too' },
  { id: 'TRANS-016', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'A hidden overlay first in the chain hides the node from tree reads as well' },
  { id: 'TRANS-017', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'list-translations answers `{node_id, node_path, locales}`' },
  { id: 'TRANS-018', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'translation-staleness answers `{stale, missing, fresh, unknown}` by comparing the stored hash of the source value' },
  { id: 'TRANS-019', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'acknowledge-staleness answers `{acknowledged: true, pointer, locale}` and the pointer is fresh afterwards' },
  { id: 'TRANS-020', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'A translation write is a revision of its own with the given `message` and `actor`' },
  { id: 'TRANS-021', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: '`GET /api/repositories/{repo}/translation-config` answers `{default_language, supported_languages, locale_fallback_chains}`' },
  { id: 'TRANS-022', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'PATCH translation-config answers 204 and the new chains apply to reads' },
  { id: 'TRANS-023', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'PATCH translation-config that changes `default_language` answers 400' },
  { id: 'TRANS-024', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'PATCH translation-config with an unsupported locale in a chain, or a chain that names itself, answers 400' },
  { id: 'TRANS-025', document: 3, section: 'Translations (supplement)', status: 'verified', theme: 'rest-content', behaviour: 'PATCH translation-config adds the default language to `supported_languages`' },
];
