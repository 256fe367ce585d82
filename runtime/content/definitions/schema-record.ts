/**
 * Fields the server adds to a schema definition when it stores it. The stored form is the wire form.
 *
 * @see docs/interface/node-types.md#fields-of-a-node-type
 */
export interface SchemaStamps {
  readonly id: string;
  /** From 1; one more with every replacement and every publish. */
  readonly version: number;
  /** ISO 8601, like all times here. */
  readonly created_at: string;
  readonly updated_at: string;
  readonly published_at: string | null;
  readonly published_by: string | null;
  /** The id of the record this one replaced. */
  readonly previous_version: string | null;
}

/**
 * Fields of a stored definition besides the author's. They are accepted and ignored where a definition is written, so
 * that a definition that was read can be sent back.
 */
export const schemaStampNames = [
  'version',
  'created_at',
  'updated_at',
  'published_at',
  'published_by',
  'previous_version',
] as const satisfies readonly (keyof SchemaStamps)[];

/** A definition may have its own id. */
interface Definition {
  readonly name: string;
  readonly id?: string | undefined;
}

/**
 * The first record of a definition.
 *
 * @param id used when the definition has none
 * @param now ISO 8601
 */
export function newSchemaRecord<D extends Definition>(
  definition: D,
  id: string,
  now: string,
): D & SchemaStamps {
  return Object.freeze({
    ...definition,
    id: definition.id ?? id,
    version: 1,
    created_at: now,
    updated_at: now,
    published_at: null,
    published_by: null,
    previous_version: null,
  });
}

/**
 * The record that replaces another: same id and creation time, next version. Its publish state is kept, because a
 * replacement does not unpublish.
 *
 * @param now ISO 8601
 * @see docs/interface/node-types.md#versions-and-publication-of-definitions
 */
export function replacedSchemaRecord<D extends Definition>(
  previous: SchemaStamps,
  definition: D,
  now: string,
): D & SchemaStamps {
  return Object.freeze({
    ...definition,
    id: previous.id,
    version: previous.version + 1,
    created_at: previous.created_at,
    updated_at: now,
    published_at: previous.published_at,
    published_by: previous.published_by,
    previous_version: previous.id,
  });
}

/**
 * The record after publishing: the version rises.
 *
 * @param now ISO 8601
 * @param by the actor
 */
export function publishedSchemaRecord<R extends SchemaStamps>(previous: R, now: string, by: string): R {
  return Object.freeze({
    ...previous,
    version: previous.version + 1,
    updated_at: now,
    published_at: now,
    published_by: by,
    previous_version: previous.id,
  });
}

/** The record after unpublishing: both publish fields are cleared. @param now ISO 8601 */
export function unpublishedSchemaRecord<R extends SchemaStamps>(previous: R, now: string): R {
  return Object.freeze({ ...previous, updated_at: now, published_at: null, published_by: null });
}

/**
 * The record of a restored earlier state, publish state included: its version continues from the newest.
 *
 * @param present the record it replaces; undefined when there is none
 * @param now ISO 8601
 */
export function restoredSchemaRecord<R extends SchemaStamps>(
  earlier: R,
  present: SchemaStamps | undefined,
  now: string,
): R {
  return Object.freeze({
    ...earlier,
    version: Math.max(earlier.version, present?.version ?? 0) + 1,
    updated_at: now,
    previous_version: (present ?? earlier).id,
  });
}
