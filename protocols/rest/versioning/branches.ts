import type { MoveHead } from '#actors/branch/messages.ts';
import type { BranchEntry, UpdateBranch } from '#actors/repository/messages.ts';
import { formatRevision, parseRevision, revisionZero } from '#runtime/content/revision.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { type BodyFields, bodyFields } from '#protocols/http/requests/body-fields.ts';
import { readOnly } from '#protocols/http/requests/body-shape.ts';
import type { HttpReply, ResponseDocs } from '#protocols/http/route.ts';
import { minRevisionParameter, readHead, sendCommand } from '../access/branch-access.ts';
import {
  type BranchInfo,
  branchInfo,
  branchInfoSchema,
  damagedBranchInfo,
  type DamagedBranchInfo,
  listedBranchSchema,
  nameSchema,
  revisionSchema,
} from './branch-info.ts';
import { headOfBranch, listBranchHeads, requireBranchNamed } from './branch-lookup.ts';
import type { BranchProvisioning, NewBranch } from '../ports.ts';
import { consistencyOf } from '../reads/read-consistency.ts';
import type { FoundRepository } from '../access/found-branch.ts';
import { callerOf, deliveryOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/** Dependencies of the branch and tag routes. */
export interface BranchesContext extends RestContext {
  readonly branches: BranchProvisioning;
}

const tag = 'Branches';
const base = '/api/management/repositories/{tenant}/{repo}/branches';
const slashAllowed = { allowSlash: true } as const;

// Read-only fields of responses are accepted, so that a branch that was read can be sent back.
const { created_at, created_by, created_from, head, name } = branchInfoSchema.properties;
const fixedProperties = readOnly({ name, head, created_at, created_by, created_from });

const missing: ResponseDocs = { description: 'There is no such repository or branch.' };
const isProtected: ResponseDocs = { description: 'The branch is protected.' };
const badBody: ResponseDocs = {
  description: 'A field is missing or of the wrong type; the text names it.',
};

/**
 * Branches of a repository.
 *
 * @see docs/interface/branches.md
 */
export function branchRoutes(context: BranchesContext): readonly RestRoute[] {
  return [
    listRoute(context),
    createRoute(context),
    readRoute(context),
    updateRoute(context),
    removeRoute(context),
    readHeadRoute(context),
    moveHeadRoute(context),
    setUpstreamRoute(context),
  ];
}

/** The repository of an address of the management routes. @throws {ServiceError} `REPOSITORY_NOT_FOUND` */
export function managedRepository(context: RestContext, request: RestRequest) {
  const { tenant } = request.principal;
  return context.directory.repository(tenant, request.segment('repo'), consistencyOf(request));
}

/** The name of the branch in an address of the management routes. */
export function branchName(request: RestRequest): string {
  return request.segment('branch', slashAllowed);
}

async function infoOf(
  context: RestContext,
  request: RestRequest,
  repository: FoundRepository,
  entry: BranchEntry,
): Promise<BranchInfo> {
  return branchInfo(entry, await headOfBranch(context, callerOf(request), repository, entry));
}

/** The branch of an address; a tag does not count. @throws {ServiceError} `BRANCH_NOT_FOUND` */
export function requireEntry(
  context: RestContext,
  request: RestRequest,
  repository: FoundRepository,
): Promise<BranchEntry> {
  return requireBranchNamed(context, callerOf(request), repository, branchName(request));
}

function listRoute(context: BranchesContext): RestRoute {
  return {
    method: 'GET',
    pattern: base,
    operationId: 'listBranches',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'The branches of a repository',
      tag,
      responses: {
        200: {
          description: 'Every branch, sorted by name; a damaged one says so with `error`.',
          schema: { type: 'array', items: listedBranchSchema },
        },
        404: { description: 'There is no such repository.' },
      },
    },
    handler: async (request) => ({ status: 200, json: await listBranches(context, request) }),
  };
}

async function listBranches(
  context: BranchesContext,
  request: RestRequest,
): Promise<(BranchInfo | DamagedBranchInfo)[]> {
  const repository = await managedRepository(context, request);
  const listed = await listBranchHeads(context, callerOf(request), repository);
  return listed.map(({ entry, head }) =>
    typeof head === 'string' ? branchInfo(entry, head) : damagedBranchInfo(entry, head),
  );
}

function createRoute(context: BranchesContext): RestRoute {
  return {
    method: 'POST',
    pattern: base,
    operationId: 'createBranch',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Create a branch',
      description:
        'Forks `upstream_branch` at its head or at `from_revision`: content, indexes, schema and history up to that revision. The fork is complete when the answer is sent. Later revisions in the copied files are never shown; the background job `RevisionHistoryCopy(repository/branch)` removes them. With `from_revision` alone the default branch is forked if it has the revision, else a branch that has it. With neither, the branch is empty and its head is `0-0`; before the first write, a system revision installs the built-in types. In answers `upstream_branch` is `main` if none was given.',
      tag,
      requestSchema: {
        type: 'object',
        required: ['name'],
        properties: {
          name: nameSchema,
          upstream_branch: { type: 'string', description: 'The branch to fork.' },
          from_revision: revisionSchema,
          created_by: { type: 'string', default: 'system' },
          protected: { type: 'boolean', default: false },
          description: { type: ['string', 'null'] },
          include_revision_history: {
            type: 'boolean',
            default: true,
            description: 'Accepted, and changes nothing: a fork always has its history.',
          },
        },
        additionalProperties: false,
      },
      responses: {
        201: { description: 'The branch.', schema: branchInfoSchema },
        400: { description: 'The name or the revision is not one.' },
        404: { description: 'There is no such repository, upstream branch or revision.' },
        409: { description: 'A branch or tag of this name exists.' },
        422: badBody,
      },
    },
    async handler(request) {
      const branch = parseNewBranch(request.body);
      const repository = await managedRepository(context, request);
      const entry = await context.branches.createBranch(repository, branch, deliveryOf(request));
      // Not its present head: it may be changed or removed when the request is repeated.
      return { status: 201, json: branchInfo(entry, entry.createdFrom ?? formatRevision(revisionZero)) };
    },
  };
}

/**
 * Reads the body of a create.
 *
 * @throws {ServiceError} `UNPROCESSABLE_BODY`, `INVALID_REVISION_NUMBER`
 */
export function parseNewBranch(body: unknown): NewBranch {
  const fields = bodyFields(body);
  const upstreamBranch = fields.optionalString('upstream_branch');
  const fromRevision = fields.optionalString('from_revision');
  // Only its type is checked: a fork always includes the history.
  fields.optionalBoolean('include_revision_history');
  return {
    name: fields.string('name'),
    createdBy: fields.optionalString('created_by') ?? 'system',
    protected: fields.optionalBoolean('protected') ?? false,
    description: fields.optionalString('description') ?? null,
    ...(upstreamBranch === undefined ? {} : { upstreamBranch }),
    ...(fromRevision === undefined ? {} : { fromRevision: parseRevision(fromRevision) }),
  };
}

function readRoute(context: BranchesContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${base}/{branch}`,
    operationId: 'readBranch',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'A branch',
      tag,
      parameters: [minRevisionParameter],
      responses: { 200: { description: 'The branch.', schema: branchInfoSchema }, 404: missing },
    },
    async handler(request) {
      const repository = await managedRepository(context, request);
      const entry = await requireEntry(context, request, repository);
      const head = await readHead(context, request, context.directory.foundBranch(repository, entry));
      return { status: 200, json: branchInfo(entry, head) };
    },
  };
}

function updateRoute(context: BranchesContext): RestRoute {
  return {
    method: 'PATCH',
    pattern: `${base}/{branch}`,
    operationId: 'updateBranch',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Protect a branch, describe it, or give it another upstream',
      description:
        'Keys that are not in the body keep their value. Protection stops deletion, head changes and merges into the branch, not ordinary writes. A branch cannot be renamed.',
      tag,
      requestSchema: {
        type: 'object',
        properties: {
          protected: { type: 'boolean' },
          description: { type: ['string', 'null'] },
          upstream_branch: { type: ['string', 'null'] },
          ...fixedProperties,
        },
        additionalProperties: false,
      },
      responses: {
        200: { description: 'The branch.', schema: branchInfoSchema },
        400: { description: 'A value is not allowed; the message names it.' },
        404: { description: 'There is no such repository, branch or upstream branch.' },
        422: badBody,
      },
    },
    async handler(request) {
      const fields = bodyFields(request.body);
      const isProtectedNow = fields.optionalBoolean('protected');
      requireSameName(fields, branchName(request));
      return await change(context, request, {
        ...(isProtectedNow === undefined ? {} : { protected: isProtectedNow }),
        ...nullable(fields, 'description', 'description'),
        ...nullable(fields, 'upstream_branch', 'upstreamBranch'),
      });
    },
  };
}

/** @throws {ServiceError} `VALIDATION_FAILED` for a new name */
function requireSameName(fields: BodyFields, name: string): void {
  const given = fields.optionalString('name');
  if (given !== undefined && given !== name) throw invalid('A branch cannot be renamed', { field: 'name' });
}

function setUpstreamRoute(context: BranchesContext): RestRoute {
  return {
    method: 'PATCH',
    pattern: `${base}/{branch}/upstream`,
    operationId: 'setUpstreamBranch',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Give a branch another upstream, or none',
      tag,
      requestSchema: {
        type: 'object',
        required: ['upstream_branch'],
        properties: { upstream_branch: { type: ['string', 'null'] } },
        additionalProperties: false,
      },
      responses: {
        200: { description: 'The branch.', schema: branchInfoSchema },
        404: { description: 'There is no such repository, branch or upstream branch.' },
        422: badBody,
      },
    },
    async handler(request) {
      const fields = bodyFields(request.body);
      fields.value('upstream_branch');
      return await change(context, request, nullable(fields, 'upstream_branch', 'upstreamBranch'));
    },
  };
}

/** A text that `null` removes; nothing when the field is absent. */
function nullable<Key extends string>(
  fields: BodyFields,
  field: string,
  key: Key,
): { readonly [K in Key]?: string | null } {
  if (fields.optionalValue(field) === undefined) return {};
  return { [key]: fields.optionalString(field) ?? null } as { readonly [K in Key]: string | null };
}

async function change(
  context: BranchesContext,
  request: RestRequest,
  changes: Omit<UpdateBranch, 'type' | 'name'>,
): Promise<HttpReply> {
  const repository = await managedRepository(context, request);
  const command: UpdateBranch = { type: 'UpdateBranch', name: branchName(request), ...changes };
  const entry = (await context.router.command(repository.actor, command, deliveryOf(request))) as BranchEntry;
  return { status: 200, json: await infoOf(context, request, repository, entry) };
}

function removeRoute(context: BranchesContext): RestRoute {
  return {
    method: 'DELETE',
    pattern: `${base}/{branch}`,
    operationId: 'deleteBranch',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'Delete a branch with all its content',
      description:
        'Its disk space is free when the answer is sent. Content that only this branch has and that a tag names stays readable through the tag until the tag is deleted.',
      tag,
      responses: {
        204: { description: 'It is gone.' },
        403: { description: 'The branch is protected, or the default branch of the repository.' },
        404: missing,
      },
    },
    async handler(request) {
      const repository = await managedRepository(context, request);
      await context.branches.removeBranch(repository, branchName(request), deliveryOf(request));
      return { status: 204 };
    },
  };
}

const headSchema = {
  type: 'object',
  required: ['revision'],
  properties: { revision: revisionSchema },
} as const;

function readHeadRoute(context: BranchesContext): RestRoute {
  return {
    method: 'GET',
    pattern: `${base}/{branch}/head`,
    operationId: 'readBranchHead',
    body: 'none',
    auth: 'required',
    docs: {
      summary: 'Where a branch stands',
      tag,
      parameters: [minRevisionParameter],
      responses: { 200: { description: 'Its head.', schema: headSchema }, 404: missing },
    },
    async handler(request) {
      const repository = await managedRepository(context, request);
      const entry = await requireEntry(context, request, repository);
      const branch = context.directory.foundBranch(repository, entry);
      return { status: 200, json: { revision: await readHead(context, request, branch) } };
    },
  };
}

function moveHeadRoute(context: BranchesContext): RestRoute {
  return {
    method: 'PUT',
    pattern: `${base}/{branch}/head`,
    operationId: 'moveBranchHead',
    body: 'json',
    auth: 'required',
    docs: {
      summary: 'Move the head of a branch back or forward',
      description:
        'Content, indexes and schema become those of that revision of the branch. Later revisions are kept: moving the head forward again restores them.',
      tag,
      requestSchema: { ...headSchema, additionalProperties: false },
      responses: {
        204: { description: 'The branch stands there.' },
        400: { description: 'That is not a revision.' },
        403: isProtected,
        404: { description: 'There is no such repository or branch, or the branch has no such revision.' },
        422: badBody,
      },
    },
    async handler(request) {
      const revision = parseRevision(bodyFields(request.body).string('revision'));
      const repository = await managedRepository(context, request);
      const entry = await requireEntry(context, request, repository);
      if (entry.protected) throw new ServiceError('FORBIDDEN', `Branch '${entry.name}' is protected`);
      const branch = context.directory.foundBranch(repository, entry);
      const command: MoveHead = { type: 'MoveHead', revision: formatRevision(revision) };
      await sendCommand(context, request, branch, command);
      return { status: 204 };
    },
  };
}
