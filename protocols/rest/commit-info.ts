import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';

/**
 * The optional `commit` of a write: `{message, actor?, is_system?}`.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, also for a commit without a message
 */
export function optionalCommit(fields: BodyFields): CommitInfo | undefined {
  const commit = fields.optionalFields('commit');
  return commit === undefined ? undefined : { message: commit.string('message'), ...namedParts(commit) };
}

/**
 * The optional body of a definition's publish, unpublish and delete: the commit itself, or wrapped in `commit`. Every
 * field may be missing.
 *
 * @param body undefined for an empty body
 * @throws {ServiceError} `UNPROCESSABLE_BODY`; `VALIDATION_FAILED` for a field with different values in both forms
 * @see docs/interface/node-types.md#versions-and-publication-of-definitions
 */
export function bareCommit(body: unknown): CommitInfo | undefined {
  if (body === undefined) return undefined;
  const fields = bodyFields(body);
  const wrapped = fields.optionalFields('commit');
  return merged(looseCommit(fields), wrapped === undefined ? undefined : looseCommit(wrapped));
}

/**
 * The commit of a node command: `message` and `actor` beside its other fields, or a `commit` object.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`; `VALIDATION_FAILED` for a field with different values in both forms
 */
export function commandCommit(fields: BodyFields): CommitInfo | undefined {
  return merged(looseCommit(fields), optionalCommit(fields));
}

/** Merges the two forms of a commit. A field that only one of them has counts. */
function merged(loose: CommitInfo | undefined, wrapped: CommitInfo | undefined): CommitInfo | undefined {
  if (loose === undefined || wrapped === undefined) return loose ?? wrapped;
  for (const [part, field] of partNames) {
    const [one, other] = [loose[part], wrapped[part]];
    if (one === undefined || other === undefined || one === other) continue;
    throw invalid(`\`${field}\` and \`commit.${field}\` are both given, with different values`, { field });
  }
  return { ...loose, ...wrapped };
}

const partNames = [
  ['message', 'message'],
  ['actor', 'actor'],
  ['isSystem', 'is_system'],
] as const;

/**
 * Whether the caller gave both message and actor for a command's revision; some responses depend on it.
 *
 * @see docs/interface/nodes.md#commands
 */
export function isExplicit(commit: CommitInfo | undefined): boolean {
  return commit?.message !== undefined && commit.actor !== undefined;
}

function looseCommit(fields: BodyFields): CommitInfo | undefined {
  const message = fields.optionalString('message');
  const commit = { ...(message === undefined ? {} : { message }), ...namedParts(fields) };
  return Object.keys(commit).length === 0 ? undefined : commit;
}

function namedParts(fields: BodyFields): Pick<CommitInfo, 'actor' | 'isSystem'> {
  const actor = fields.optionalString('actor');
  const isSystem = fields.optionalBoolean('is_system');
  return { ...(actor === undefined ? {} : { actor }), ...(isSystem === undefined ? {} : { isSystem }) };
}

const commitProperties = {
  message: { type: 'string' },
  actor: { type: 'string', description: 'Default: the caller.' },
  is_system: { type: 'boolean', default: false },
} as const;

/** Schema of `commit`. */
export const commitSchema = {
  type: 'object',
  required: ['message'],
  properties: commitProperties,
  additionalProperties: false,
} as const;

/** Schemas of the fields that {@link commandCommit} reads. */
export const commandCommitProperties = { ...commitProperties, commit: commitSchema } as const;

/** Schema of the body that {@link bareCommit} reads. */
export const bareCommitSchema = {
  type: 'object',
  properties: {
    ...commitProperties,
    commit: { type: 'object', properties: commitProperties, additionalProperties: false },
  },
  additionalProperties: false,
} as const;
