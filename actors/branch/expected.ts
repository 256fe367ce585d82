import { ServiceError } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { type Expected, namesTag } from './condition-messages.ts';

/** The node state that a precondition is checked against. */
interface Present {
  /** `version` of the node. */
  readonly version: number;
  /** Entity tag of the node, without quotes. */
  readonly tag: string;
}

/** Computes the entity tag of a node; yields where the work may pause. */
type TagOf = (record: NodeRecord) => Generator<undefined, string>;

/**
 * Refuses a write whose preconditions do not hold.
 *
 * @param tagOf called if a precondition needs the tag
 * @returns yields where the work may pause
 * @throws {ServiceError} `PRECONDITION_FAILED` with `details: {version, etag}` of the current node
 */
export function* requireExpected(
  record: NodeRecord,
  { match, noneMatch, version }: Expected,
  tagOf: TagOf,
): Generator<undefined, void> {
  if (match !== undefined || noneMatch !== undefined) {
    const present: Present = { version: record.header.version, tag: yield* tagOf(record) };
    if (match !== undefined && !namesTag(match, present.tag)) throw otherTag(match, present);
    if (noneMatch !== undefined && namesTag(noneMatch, present.tag)) {
      throw refused('The node has a tag that If-None-Match names', present);
    }
  }
  yield* requireVersion(record, version, tagOf);
}

/**
 * Refuses a write to a node whose version is not the given one.
 *
 * @param version undefined: any
 * @throws {ServiceError} as {@link requireExpected}
 */
export function* requireVersion(
  record: NodeRecord,
  version: number | undefined,
  tagOf: TagOf,
): Generator<undefined, void> {
  const present = record.header.version;
  if (version === undefined || version === present) return;
  throw refused(`The node is at version ${present}, not ${version}; read it again`, {
    version: present,
    tag: yield* tagOf(record),
  });
}

/**
 * Refuses a write whose preconditions the root of a workspace cannot meet: it always exists and has neither a tag nor a
 * version.
 *
 * @throws {ServiceError} `PRECONDITION_FAILED`
 */
export function requireExpectedRoot({ match, noneMatch, version }: Expected): void {
  const hasTag = match !== undefined && match !== '*';
  if (!hasTag && noneMatch !== '*' && version === undefined) return;
  throw new ServiceError(
    'PRECONDITION_FAILED',
    'The root of a workspace is always there and has neither an entity tag nor a version',
  );
}

/**
 * Refuses a write whose preconditions require a node where none exists. @throws {ServiceError} `PRECONDITION_FAILED`
 */
export function requireExpectedAbsence({ match, version }: Expected): void {
  if (match === undefined && version === undefined) return;
  throw new ServiceError('PRECONDITION_FAILED', 'There is no node at the address');
}

function otherTag(match: readonly string[] | '*', present: Present): ServiceError {
  if (match.length === 0) {
    return refused('If-Match names weak tags (W/) only, and those never match; send the version', present);
  }
  const isVariant = match !== '*' && match.some((tag) => tag.startsWith(`${present.tag}.`));
  const why = isVariant
    ? 'The tag in If-Match is of a read with parameters, which does not show the whole node as it is stored; send the version, or the tag of a read without them'
    : 'The node is not what the tag in If-Match stands for any more; read it again';
  return refused(why, present);
}

function refused(message: string, { tag, version }: Present): ServiceError {
  return new ServiceError('PRECONDITION_FAILED', message, { details: { version, etag: `"${tag}"` } });
}
