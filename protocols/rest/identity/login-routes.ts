import type { Identity } from '#actors/identities/messages.ts';
import type { LoginScope } from '#protocols/identity/identity-logins.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply, ResponseDocs } from '#protocols/http/route.ts';
import { requireRepositoryName, requireTenantName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { clientOf, IDENTITY_BODY_BYTES_MAX, type IdentityContext, namedTenant } from './identity-context.ts';
import { refusingIdempotencyKey, tenantParameter, tokenAnswer, tokenPairSchema } from './token-answer.ts';

/** Where a route logs people in: the tenant, or a repository in which they get a node. */
interface Place {
  readonly prefix: '/auth' | '/auth/{repo}';
  /** End of operation names and of summaries. */
  readonly suffix: string;
  readonly where: string;
  readonly isRepository: boolean;
}

const tenantPlace: Place = { prefix: '/auth', suffix: '', where: '', isRepository: false };

const repositoryPlace: Place = {
  prefix: '/auth/{repo}',
  suffix: 'InRepository',
  where: ' in a repository',
  isRepository: true,
};

const credentials = { email: { type: 'string' }, password: { type: 'string' } } as const;

const tokensAnswered: ResponseDocs = { description: 'A token pair.', schema: tokenPairSchema };

const busy: Readonly<Record<number, ResponseDocs>> = {
  503: { description: 'Too many passwords are being compared, or the identities cannot be reached.' },
};

/**
 * Registration, login and refresh, for a tenant and in a repository.
 *
 * @see docs/interface/identities.md#logging-in
 */
export function loginRoutes(context: IdentityContext): readonly RestRoute[] {
  const routes = [tenantPlace, repositoryPlace].flatMap((place) => [
    registerRoute(context, place),
    loginRoute(context, place),
    refreshRoute(context, place),
  ]);
  return refusingIdempotencyKey(routes);
}

function registerRoute(context: IdentityContext, { isRepository, prefix, suffix, where }: Place): RestRoute {
  return {
    method: 'POST',
    pattern: `${prefix}/register`,
    operationId: `registerIdentity${suffix}`,
    body: 'json',
    bodyBytesMax: IDENTITY_BODY_BYTES_MAX,
    auth: 'none',
    docs: {
      summary: `Register with a password${where}`,
      description: isRepository
        ? 'Makes the node of the person in the repository as well. The answer does not tell a repository that does not exist from one where nobody may register.'
        : 'The token has no home, and no repository gets a node of the person.',
      tag: 'Identities',
      parameters: [tenantParameter],
      requestSchema: {
        type: 'object',
        additionalProperties: false,
        required: ['email', 'password'],
        properties: {
          ...credentials,
          display_name: {
            type: 'string',
            description: 'Default: the part of the address before the at-sign.',
          },
        },
      },
      responses: {
        200: tokensAnswered,
        400: { description: 'The address is no email address, or the password breaks the policy.' },
        403: { description: 'Nobody may register there.' },
        409: { description: 'The address has an account.' },
        429: {
          description: 'Too many registrations from one network of clients, at once or within an hour.',
        },
        ...busy,
      },
    },
    handler: (request) => register(context, request, isRepository),
  };
}

async function register(
  context: IdentityContext,
  request: RestRequest,
  isRepository: boolean,
): Promise<HttpReply> {
  const client = clientOf(request);
  const fields = bodyFields(request.body);
  const email = fields.string('email');
  const password = fields.string('password');
  const displayName = fields.optionalString('display_name');
  const scope = scopeOf(context, request, isRepository);
  const { repository, tenant } = scope;
  if (repository !== undefined && !(await context.users.mayRegister(tenant, repository)))
    throw new ServiceError('FORBIDDEN', 'Nobody may register there');
  return tokenAnswer(await context.logins.register(scope, { email, password, displayName }, client));
}

function loginRoute(context: IdentityContext, { isRepository, prefix, suffix, where }: Place): RestRoute {
  return {
    method: 'POST',
    pattern: `${prefix}/login`,
    operationId: `logInIdentity${suffix}`,
    takesAnyParameter: true,
    body: 'json',
    bodyBytesMax: IDENTITY_BODY_BYTES_MAX,
    auth: 'none',
    docs: {
      summary: `Log in with a password${where}`,
      description: isRepository
        ? 'The first login makes the node of the person in the repository; later ones use it as it is.'
        : 'The token has no home, and no repository gets a node of the person.',
      tag: 'Identities',
      parameters: [tenantParameter],
      requestSchema: {
        type: 'object',
        required: ['email', 'password'],
        properties: {
          ...credentials,
          remember_me: {
            type: 'boolean',
            default: false,
            description: 'Lets the session last for 30 days instead of 24 hours.',
          },
        },
      },
      responses: {
        200: tokensAnswered,
        401: { description: 'The email or the password is wrong.' },
        403: { description: 'The account is deactivated, or logins with a password are switched off.' },
        429: {
          description:
            'Too many failed logins to the account or from one network of clients, or too many logins at once.',
        },
        ...busy,
      },
    },
    async handler(request) {
      const client = clientOf(request);
      const fields = bodyFields(request.body);
      const email = fields.string('email');
      const password = fields.string('password');
      const rememberMe = fields.optionalBoolean('remember_me') ?? false;
      const scope = scopeOf(context, request, isRepository);
      return tokenAnswer(await context.logins.logIn(scope, { email, password, rememberMe }, client));
    },
  };
}

function refreshRoute(context: IdentityContext, { prefix, suffix }: Place): RestRoute {
  return {
    method: 'POST',
    pattern: `${prefix}/refresh`,
    operationId: `refreshSession${suffix}`,
    takesAnyParameter: true,
    body: 'json',
    bodyBytesMax: IDENTITY_BODY_BYTES_MAX,
    auth: 'none',
    docs: {
      summary: 'Exchange a refresh token',
      description:
        'Answers a new token pair for the same session, with its repository and the time of its login. The refresh token is used up: a second use ends the session.',
      tag: 'Identities',
      parameters: [tenantParameter],
      requestSchema: {
        type: 'object',
        required: ['refresh_token'],
        properties: { refresh_token: { type: 'string' } },
      },
      responses: {
        200: tokensAnswered,
        401: { description: 'The refresh token is not valid, was used before, or its session has ended.' },
        403: { description: 'The account is deactivated.' },
      },
    },
    async handler(request) {
      const token = bodyFields(request.body).string('refresh_token');
      const named = request.header('x-tenant-id');
      const tenant = named === undefined ? undefined : requireTenantName(named);
      return tokenAnswer(await context.logins.refresh(token, tenant));
    },
  };
}

/** What a login is for. @throws {ServiceError} `VALIDATION_FAILED` */
export function scopeOf(
  context: Pick<IdentityContext, 'onUserFailure' | 'users'>,
  request: RestRequest,
  isRepository: boolean,
): LoginScope {
  const tenant = namedTenant(request);
  if (!isRepository) return { tenant };
  return repositoryScope(context, tenant, requireRepositoryName(request.segment('repo')));
}

/** A login in a repository, which gets a node of the person. */
export function repositoryScope(
  { onUserFailure, users }: Pick<IdentityContext, 'onUserFailure' | 'users'>,
  tenant: string,
  repository: string,
): LoginScope {
  return {
    tenant,
    repository,
    async homeOf(identity: Identity) {
      try {
        return (await users.findOrMake(tenant, repository, identity))?.path;
      } catch (error) {
        onUserFailure({ tenant, repository, identityId: identity.identity_id }, error);
        return undefined;
      }
    },
  };
}
