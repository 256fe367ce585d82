import { type EntityTags, type Expected, namesTag } from '#actors/branch/condition-messages.ts';
import { PRECONDITIONS_SINCE } from '#runtime/actor/message-version.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { BodyFields } from '#protocols/http/requests/body-fields.ts';
import { type EntityTag, parseEntityTags, uncodedTag } from '#protocols/http/replies/etag.ts';
import type { HttpReply, ParameterDocs, ReplyHeaders } from '#protocols/http/route.ts';
import type { RestRequest } from '../rest-route.ts';

/** Description of the preconditions of a write. */
export const preconditionParameters: readonly ParameterDocs[] = [
  {
    name: 'If-Match',
    in: 'header',
    description:
      'Entity tags of the addressed node, as the `ETag` of a read of the same address. The write happens only if the node has one of them, else it is answered 412 `PRECONDITION_FAILED`. `*` matches any existing node. The node is compared and written in one step. `version` in the body does the same.',
  },
  {
    name: 'If-None-Match',
    in: 'header',
    description: 'The write happens only while the node has none of these entity tags, else it is 412.',
  },
];

/** Description of the conditions of a read. */
export const readConditionParameters: readonly ParameterDocs[] = [
  {
    name: 'If-None-Match',
    in: 'header',
    description:
      'Entity tags of answers that the caller has. The answer is 304 without a body if one of them is the current tag of the node or property.',
  },
  {
    name: 'If-Match',
    in: 'header',
    description: 'Answers 412 unless the node has one of these entity tags.',
  },
];

/** Schema of a write's `version`. */
export const versionSchema = {
  type: 'integer',
  description:
    'The write happens only if this is the `version` of the node, else it is answered 412 `PRECONDITION_FAILED`.',
} as const;

/** The preconditions a request has on the addressed node, as a part of its command. */
export interface Condition {
  readonly expected?: Expected;
  readonly since?: number;
}

const unconditional: Condition = Object.freeze({});

/**
 * The precondition of a write: `If-Match`, `If-None-Match` and the `version` of its body.
 *
 * @param fields of a body whose `version` is a precondition
 * @throws {ServiceError} `VALIDATION_FAILED` for a header that is not a list of entity tags; `UNPROCESSABLE_BODY`
 */
export function conditionOf(request: RestRequest, fields?: BodyFields): Condition {
  const match = tagsOf(request, 'If-Match');
  const noneMatch = tagsOf(request, 'If-None-Match');
  const version = fields?.optionalInteger('version');
  if (match === undefined && noneMatch === undefined && version === undefined) return unconditional;
  const expected: Expected = {
    ...(match === undefined ? {} : { match: match === '*' ? match : strong(match) }),
    ...(noneMatch === undefined ? {} : { noneMatch: noneMatch === '*' ? noneMatch : all(noneMatch) }),
    ...(version === undefined ? {} : { version }),
  };
  return { expected, since: PRECONDITIONS_SINCE };
}

function tagsOf(
  request: RestRequest,
  name: 'If-Match' | 'If-None-Match',
): '*' | readonly EntityTag[] | undefined {
  const header = request.headerList(name.toLowerCase());
  if (header === undefined) return undefined;
  const tags = parseEntityTags(header);
  // Ignoring the header would make a write unconditional that its sender believes to be guarded.
  if (tags === undefined) {
    throw invalid(`${name} is * or a list of entity tags in double quotes`, { field: name });
  }
  return tags;
}

/** The tags that can match in a strong comparison. @see RFC 9110 section 8.8.3.2 */
function strong(tags: readonly EntityTag[]): readonly string[] {
  return all(tags.filter(({ isWeak }) => !isWeak));
}

function all(tags: readonly EntityTag[]): readonly string[] {
  return tags.map(({ opaque }) => uncodedTag(opaque));
}

/** A {@link ReadCondition} as a part of the query. */
interface ConditionOfQuery {
  /** Tags of states that the branch need not send again. */
  readonly unless?: EntityTags;
  /** With tags in `If-Match`: members of an older version send no tag to compare them with. */
  readonly since?: number;
}

/**
 * The condition of a read of a node or property: revalidation (`If-None-Match`), or a read of one exact state
 * (`If-Match`).
 *
 * @see RFC 9110 section 13.2.2
 */
export class ReadCondition {
  /** What the query of the read says of it. */
  readonly query: ConditionOfQuery;
  readonly #noneMatch: '*' | readonly EntityTag[] | undefined;
  readonly #match: '*' | readonly string[] | undefined;
  /** Suffix of the branch's tag if the response has another form. */
  readonly #form: string;

  private constructor(
    noneMatch: '*' | readonly EntityTag[] | undefined,
    match: '*' | readonly string[] | undefined,
    form: string,
  ) {
    this.#noneMatch = noneMatch;
    this.#match = match;
    this.#form = form;
    this.query = {
      ...(noneMatch === undefined
        ? {}
        : { unless: noneMatch === '*' ? '*' : all(noneMatch).flatMap((tag) => this.#formless(tag)) }),
      ...(match === undefined || match === '*' ? {} : { since: PRECONDITIONS_SINCE }),
    };
  }

  /**
   * The condition of a read.
   *
   * @param form suffix of a response that is not the JSON text of the branch: `.yaml`
   * @returns undefined when there is none
   * @throws {ServiceError} `VALIDATION_FAILED` for an invalid `If-Match`
   */
  static of(request: RestRequest, form = ''): ReadCondition | undefined {
    const noneMatch = request.headerList('if-none-match');
    const match = tagsOf(request, 'If-Match');
    if (noneMatch === undefined && match === undefined) return undefined;
    const known = noneMatch === undefined ? undefined : parseEntityTags(noneMatch);
    return new ReadCondition(known, match === undefined || match === '*' ? match : strong(match), form);
  }

  #formless(tag: string): readonly string[] {
    if (this.#form === '') return [tag];
    return tag.endsWith(this.#form) ? [tag.slice(0, -this.#form.length)] : [];
  }

  /**
   * Evaluates the condition against the node that was read.
   *
   * @param tag of the branch; undefined if a member of an older version sent none
   * @returns the 304 reply; undefined: the whole response is sent
   * @throws {ServiceError} `PRECONDITION_FAILED` when no tag of `If-Match` matches
   */
  judge(tag: string | undefined, headers: ReplyHeaders): HttpReply | undefined {
    if (tag === undefined) return undefined;
    const shown = tag + this.#form;
    if (this.#match !== undefined && !namesTag(this.#match, shown)) {
      throw new ServiceError('PRECONDITION_FAILED', 'The node is not what the tag in If-Match stands for', {
        details: { etag: `"${shown}"` },
      });
    }
    if (this.#noneMatch === undefined) return undefined;
    const isAny = this.#noneMatch === '*';
    const known = isAny ? { opaque: shown } : this.#known(shown);
    if (known === undefined) return undefined;
    // The tag is sent as the client gave it, because it names the coding of the client's copy.
    return {
      status: 304,
      headers: { ...headers, ETag: `"${known.opaque}"`, Vary: 'Accept-Encoding' },
    };
  }

  #known(tag: string): EntityTag | undefined {
    const tags = this.#noneMatch as readonly EntityTag[];
    return tags.find(({ opaque }) => uncodedTag(opaque) === tag);
  }
}

/** Headers of a response with an entity tag. @param tag without quotes; undefined: it has none */
export function taggedHeaders(headers: ReplyHeaders, tag: string | undefined): ReplyHeaders {
  return tag === undefined ? headers : { ...headers, ETag: `"${tag}"` };
}
