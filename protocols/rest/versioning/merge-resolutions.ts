import type { MergeResolution, ResolutionType } from '#actors/branch/merge-messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parseLocale } from '#runtime/content/translations/locale.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { BodyFields } from '#protocols/http/requests/body-fields.ts';
import { readOnly } from '#protocols/http/requests/body-shape.ts';
import { conflictProperties } from '../content-schemas.ts';

/** Maximum resolutions in one request; one merge has no more conflicts either. */
export const RESOLUTIONS_MAX = 10_000;

/**
 * The resolutions of a body: `resolutions`, or `conflicts` as some clients call them.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`; `VALIDATION_FAILED` for an unknown type, an invalid locale, and more
 *   than {@link RESOLUTIONS_MAX}
 * @see docs/interface/merges.md#resolving-conflicts
 */
export function parseResolutions(body: BodyFields): readonly MergeResolution[] {
  const given = body.list('resolutions', 'conflicts');
  if (given.length > RESOLUTIONS_MAX) {
    throw invalid(`At most ${RESOLUTIONS_MAX} resolutions at a time`, { field: 'resolutions' });
  }
  return given.map(parseResolution);
}

function parseResolution(fields: BodyFields): MergeResolution {
  const nodeId = fields.string('node_id');
  const type = parseType(fields.string('resolution_type', 'resolution'), fields.nameOf('resolution_type'));
  const locale = fields.optionalString('translation_locale', 'locale');
  return {
    nodeId,
    type,
    ...(locale === undefined ? {} : { locale: parseLocale(locale, fields.nameOf('translation_locale')) }),
    ...workspaceOf(fields),
    ...(type === 'manual' ? { properties: manualProperties(fields) } : {}),
  };
}

const types: Readonly<Record<string, ResolutionType>> = {
  keepours: 'keep-ours',
  ours: 'keep-ours',
  keeptheirs: 'keep-theirs',
  theirs: 'keep-theirs',
  manual: 'manual',
};

/** Longer than any word that has more than one spelling. */
const WORD_LENGTH_MAX = 64;

/** A word in lower case without hyphens and underscores. An overlong text is returned unchanged; it matches no word. */
export function foldedWord(text: string): string {
  return text.length > WORD_LENGTH_MAX ? text : text.replace(/[-_]/g, '').toLowerCase();
}

/** Any case, with or without a hyphen or underscore. */
function parseType(text: string, field: string): ResolutionType {
  const plain = foldedWord(text);
  const type = Object.hasOwn(types, plain) ? types[plain] : undefined;
  if (type !== undefined) return type;
  throw invalid(`Unknown resolution '${text.slice(0, 40)}'; there are keep-ours, keep-theirs and manual`, {
    field,
  });
}

/** Null is a value of its own: it stands for the schema. */
function workspaceOf(fields: BodyFields): { workspace?: string | null } {
  if (fields.optionalValue('workspace') === null) return { workspace: null };
  const workspace = fields.optionalString('workspace');
  return workspace === undefined ? {} : { workspace };
}

/** Null deletes, so it differs from a missing field. */
function manualProperties(fields: BodyFields): JsonObject | null {
  const name = 'resolved_properties';
  return fields.optionalValue(name) === null ? null : (fields.object(name) as JsonObject);
}

/** Schema of one resolution. */
export const resolutionSchema = {
  type: 'object',
  required: ['node_id', 'resolution_type'],
  properties: {
    // A conflict that was read may be sent back together with its resolution.
    ...readOnly(conflictProperties),
    node_id: { type: 'string', description: 'As the conflict names it.' },
    resolution_type: {
      type: 'string',
      description:
        '`keep-ours` (or `ours`): what the target has. `keep-theirs` (or `theirs`): what the source has, its place ' +
        'included. `manual`: `resolved_properties`.',
      'x-aliases': ['resolution'],
    },
    resolved_properties: {
      type: ['object', 'null'],
      description:
        'Required for `manual`: the properties of a node, the values of a locale by pointer, or a schema definition. ' +
        'Null deletes the node and everything below it, the translation, or the definition.',
    },
    translation_locale: {
      type: 'string',
      description: 'For a conflict about one locale.',
      'x-aliases': ['locale'],
    },
    workspace: {
      type: ['string', 'null'],
      description: 'As the conflict has it; needed only where two conflicts have the same `node_id`.',
    },
  },
  additionalProperties: false,
} as const;
