import type { Identity } from '#actors/identities/messages.ts';
import type { IdentitiesProvisioning } from '#protocols/identity/ports.ts';
import type { BodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply, JsonSchema, ResponseDocs } from '#protocols/http/route.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { recordAdminAction } from '../access/admin-actions.ts';
import type { RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { type DecidersContext, requireDecider } from './deciders.ts';
import type { RepositoryMembers } from './repository-members.ts';

/** Dependencies of the routes that decide who has access to a repository. */
export interface AccessContext extends DecidersContext, RestContext {
  readonly identities: IdentitiesProvisioning;
  readonly members: RepositoryMembers;
}

/** Tag of the routes in the description of the interface. */
export const accessTag = 'Access to repositories';

/** Path that the routes have in common. */
export const accessBase = '/repos/{repo}/access';

/** Longest message or reason, in UTF-16 units. */
const TEXT_CHARACTERS_MAX = 2_000;

/** Maximum bytes of a body. */
export const ACCESS_BODY_BYTES_MAX = 64 * 1024;

/** Schema of a message or a reason. */
export const shortText = { type: 'string', maxLength: TEXT_CHARACTERS_MAX } as const;

/** Schema of a text that may be absent. */
export const optionalText = { type: ['string', 'null'] } as const;

/** Schema of a time. */
export const time = { type: 'string', format: 'date-time' } as const;

/** Schema of {@link done}. */
export const doneSchema: JsonSchema = {
  type: 'object',
  properties: { message: { type: 'string' }, id: { type: 'string' } },
};

/** Answers to those who do not decide. */
export const refusals = {
  401: { description: 'There is no valid login.' },
  403: { description: 'The caller does not decide on access.' },
} as const satisfies Record<number, ResponseDocs>;

/** Schema of the body of a route that changes something. */
export function bodyOf(
  properties: Readonly<Record<string, JsonSchema>>,
  ...required: readonly string[]
): JsonSchema {
  return {
    type: 'object',
    additionalProperties: false,
    properties,
    ...(required.length === 0 ? {} : { required }),
  };
}

/** What a route answers, and what of it is for the audit trail. */
export interface Decision {
  readonly reply: HttpReply;
  /** Absent: nothing was decided. */
  readonly noted?: {
    readonly action: string;
    /** The identity, the address, or the entry. */
    readonly subject: string;
    readonly roles?: readonly string[];
  };
}

/**
 * A route for those who decide; others are refused before anything else is looked at. What was decided is in the audit
 * trail, whoever has decided: a person may give roles to themselves.
 */
export function decided(
  context: AccessContext,
  route: Omit<RestRoute, 'auth' | 'handler' | 'bodyBytesMax'> & {
    readonly decide: (request: RestRequest, by: string) => Promise<Decision>;
  },
): RestRoute {
  const { decide, ...rest } = route;
  return {
    ...rest,
    auth: 'required',
    audience: 'tenant',
    bodyBytesMax: ACCESS_BODY_BYTES_MAX,
    admit: async (request) => void (await requireDecider(context, request)),
    async handler(request) {
      const { noted, reply } = await decide(request, await requireDecider(context, request));
      if (noted !== undefined) {
        const { action, roles = [], subject } = noted;
        const details = { repository: request.segment('repo'), roles };
        await recordAdminAction(context, request, { action, subject, details });
      }
      return reply;
    },
  };
}

/** The account of a person whom an entry or a node names; undefined where none is named, and for one that is gone. */
export async function personOf(
  { people }: AccessContext,
  tenant: string,
  identityId: string | null,
): Promise<Identity | undefined> {
  if (identityId === null) return undefined;
  return await people.query<Identity>(tenant, { type: 'FindIdentity', identityId });
}

/**
 * The account of a person who is given access.
 *
 * @throws {ServiceError} `IDENTITY_NOT_FOUND`; `CONFLICT` for one that is deactivated
 */
export async function activePerson(
  { people }: AccessContext,
  tenant: string,
  identityId: string,
): Promise<Identity> {
  const identity = await people.require(tenant, identityId);
  if (!identity.is_active) throw new ServiceError('CONFLICT', 'The account is deactivated');
  return identity;
}

/**
 * A message or reason in a body; null for none.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for one that is too long
 */
export function shortOf(fields: BodyFields, name: string): string | null {
  const text = fields.optionalString(name) ?? null;
  if (text !== null && text.length > TEXT_CHARACTERS_MAX)
    throw invalid(`\`${name}\` is longer than ${TEXT_CHARACTERS_MAX} characters`, { field: name });
  return text;
}

/**
 * Answer of a route that has changed something.
 *
 * @param id of the entry, else of the identity
 */
export function done(message: string, id: string): HttpReply {
  return { status: 200, json: { message, id } };
}
