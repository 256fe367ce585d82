import type { FindTag, ListTags, TagEntry } from '#actors/repository/messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { ResponseDocs } from '#protocols/http/route.ts';
import { nameSchema, revisionSchema, tagInfo, tagInfoSchema } from './branch-info.ts';
import { entryNamed } from './branch-lookup.ts';
import { type BranchesContext, managedRepository } from './branches.ts';
import type { NewTag } from '../ports.ts';
import { callerOf, deliveryOf } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

const tag = 'Tags';
const base = '/api/management/repositories/{tenant}/{repo}/tags';
const slashAllowed = { allowSlash: true } as const;
const missing: ResponseDocs = { description: 'There is no such repository or tag.' };

/**
 * Tags of a repository. A tag refers to one revision permanently and cannot be changed.
 *
 * @see docs/interface/branches.md#tags
 */
export function tagRoutes(context: BranchesContext): readonly RestRoute[] {
  return [listRoute(context), createRoute(context), readRoute(context), removeRoute(context)];
}

async function tagsOf(context: BranchesContext, request: RestRequest): Promise<readonly TagEntry[]> {
  const { actor } = await managedRepository(context, request);
  const query: ListTags = { type: 'ListTags' };
  return (await context.router.query(actor, query, callerOf(request))) as readonly TagEntry[];
}

function listRoute(context: BranchesContext): RestRoute {
  return {
    method: 'GET',
    pattern: base,
    operationId: 'listTags',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The tags of a repository',
      tag,
      responses: {
        200: { description: 'Every tag, sorted by name.', schema: { type: 'array', items: tagInfoSchema } },
        404: { description: 'There is no such repository.' },
      },
    },
    handler: async (request) => ({ status: 200, json: (await tagsOf(context, request)).map(tagInfo) }),
  };
}

function createRoute(context: BranchesContext): RestRoute {
  return {
    method: 'POST',
    pattern: base,
    operationId: 'createTag',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Give a revision a name, for good',
      description:
        'The revision can be of any branch. The name can be used in place of a branch in the address of a read, which then reads that revision. A write through it is answered 405 `READ_ONLY_REVISION`.',
      tag,
      requestSchema: {
        type: 'object',
        required: ['name', 'revision'],
        properties: {
          name: nameSchema,
          revision: revisionSchema,
          message: { type: ['string', 'null'] },
          created_by: { type: 'string', default: 'system' },
          protected: { type: 'boolean', default: false, description: 'A protected tag cannot be deleted.' },
          created_at: { ...tagInfoSchema.properties.created_at, readOnly: true },
        },
        additionalProperties: false,
      },
      responses: {
        201: { description: 'The tag.', schema: tagInfoSchema },
        400: { description: 'The name or the revision is not one.' },
        404: { description: 'There is no such repository, or no branch has the revision.' },
        409: { description: 'A tag or branch of this name exists.' },
        422: {
          description: 'A field is missing or of the wrong type; the text names it.',
        },
      },
    },
    async handler(request) {
      const parsed = parseNewTag(request.body);
      const repository = await managedRepository(context, request);
      const entry = await context.branches.createTag(repository, parsed, deliveryOf(request));
      return { status: 201, json: tagInfo(entry) };
    },
  };
}

/**
 * Reads the body of a create.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `INVALID_REVISION_NUMBER`
 */
export function parseNewTag(body: unknown): NewTag {
  const fields = bodyFields(body);
  return {
    name: fields.string('name'),
    revision: parseRevision(fields.string('revision')),
    message: fields.optionalString('message') ?? null,
    createdBy: fields.optionalString('created_by') ?? 'system',
    protected: fields.optionalBoolean('protected') ?? false,
  };
}

function readRoute(context: BranchesContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${base}/{name}`,
    operationId: 'readTag',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'A tag',
      tag,
      responses: { 200: { description: 'The tag.', schema: tagInfoSchema }, 404: missing },
    },
    async handler(request) {
      const name = request.segment('name', slashAllowed);
      const repository = await managedRepository(context, request);
      const query: FindTag = { type: 'FindTag', name };
      const entry = (await entryNamed(context, callerOf(request), repository, query)) as TagEntry | undefined;
      if (entry === undefined) throw new ServiceError('TAG_NOT_FOUND', `Tag '${name}' not found`);
      return { status: 200, json: tagInfo(entry) };
    },
  };
}

function removeRoute(context: BranchesContext): RestRoute {
  return {
    method: 'DELETE',
    pattern: `${base}/{name}`,
    operationId: 'deleteTag',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'Delete a tag',
      tag,
      responses: {
        204: { description: 'It is gone.' },
        403: { description: 'The tag is protected.' },
        404: missing,
      },
    },
    async handler(request) {
      const repository = await managedRepository(context, request);
      const name = request.segment('name', slashAllowed);
      await context.branches.removeTag(repository, name, deliveryOf(request));
      return { status: 204 };
    },
  };
}
