import type { MagicLinks } from '#protocols/identity/magic-links.ts';
import type { TokenPair } from '#protocols/identity/identity-logins.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import type { HttpReply, ParameterDocs, ReplyHeaders, RouteDocs } from '#protocols/http/route.ts';
import { requireRepositoryName } from '#runtime/content/names.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import { clientOf, IDENTITY_BODY_BYTES_MAX, type IdentityContext, namedTenant } from './identity-context.ts';
import { repositoryScope } from './login-routes.ts';
import { refusingIdempotencyKey, tenantParameter } from './token-answer.ts';
import { singleParameter } from './single-parameter.ts';

/** Dependencies of the routes of login links. */
export interface MagicLinkContext extends Pick<IdentityContext, 'onUserFailure' | 'users'> {
  readonly magicLinks: MagicLinks;
}

/** The address of a page with tokens must not be stored, nor sent to another page. */
const privateHeaders: ReplyHeaders = { 'Cache-Control': 'no-store' };

const MESSAGE = 'If the address has an account, a login link is on its way.';

const requestDocs: Omit<RouteDocs, 'summary'> = {
  description:
    'Sends a mail with a link that logs in the person who opens it, once. The answer is the same whether or not the address has an account; without one no mail is sent. `redirect_url` must lie under the configured `base_url` or an entry of its allowlist. An address may be sent 5 links in 15 minutes, and a client may ask for 20 in an hour.',
  tag: 'Identities',
  parameters: [tenantParameter],
  requestSchema: {
    type: 'object',
    additionalProperties: false,
    required: ['email'],
    properties: {
      email: { type: 'string' },
      redirect_url: { type: 'string', description: 'Default: the configured `base_url`.' },
    },
  },
  responses: {
    200: {
      description: 'The request was taken.',
      schema: {
        type: 'object',
        properties: {
          message: { type: 'string' },
          masked_email: { type: 'string' },
          expires_in_minutes: { type: 'integer' },
        },
      },
    },
    400: { description: 'The email address is not valid, or nobody may land at `redirect_url`.' },
    403: { description: 'Logins with a link are switched off.' },
    429: { description: 'Too many links were asked for.' },
    503: { description: 'No mail can be sent: `EMAIL_NOT_CONFIGURED`.' },
  },
};

const tokenParameter: ParameterDocs = {
  name: 'token',
  in: 'query',
  description: 'The token of the mail.',
  isRequired: true,
};

const verifyDocs: Omit<RouteDocs, 'summary'> = {
  description:
    'The address of the mail. GET uses the link; HEAD, and a browser that loads pages in advance, do not. The tokens are in the fragment: `#access_token=…&refresh_token=…&token_type=Bearer&expires_at=…`.',
  tag: 'Identities',
  parameters: [tokenParameter],
  responses: {
    204: { description: 'To `HEAD`: the link is not looked at.' },
    302: { description: 'The person is logged in, and goes on to where the request for the link said.' },
    400: { description: 'There is no token.' },
    401: { description: 'The link is unknown, used or expired.' },
    403: { description: 'The account is deactivated, or logins with a link are switched off.' },
    503: { description: 'The browser loads the page in advance; the link is not used.' },
  },
};

/**
 * Login links that are sent by mail.
 *
 * @see docs/interface/magic-links.md
 */
export function magicLinkRoutes(context: MagicLinkContext): readonly RestRoute[] {
  const asking = {
    method: 'POST',
    body: 'json',
    bodyBytesMax: IDENTITY_BODY_BYTES_MAX,
    auth: 'none',
  } as const;
  // Programs that count who opens mail add parameters of their own.
  const opening = {
    method: 'GET',
    body: 'none',
    auth: 'none',
    isRead: false,
    takesAnyParameter: true,
  } as const;
  return refusingIdempotencyKey([
    {
      ...asking,
      pattern: '/auth/{repo}/magic-link',
      operationId: 'requestRepositoryMagicLink',
      docs: { ...requestDocs, summary: 'Ask for a login link to a repository' },
      handler: (request) => ask(context, request, repositoryOf(request)),
    },
    {
      ...asking,
      pattern: '/auth/magic-link',
      operationId: 'requestMagicLink',
      docs: { ...requestDocs, summary: 'Ask for a login link' },
      handler: (request) => ask(context, request, undefined),
    },
    {
      ...opening,
      pattern: '/auth/{repo}/magic-link/verify',
      operationId: 'openRepositoryMagicLink',
      docs: { ...verifyDocs, summary: 'Log in to a repository with a link' },
      handler: (request) => open(context, request, repositoryOf(request)),
    },
    {
      ...opening,
      pattern: '/auth/magic-link/verify',
      operationId: 'openMagicLink',
      docs: { ...verifyDocs, summary: 'Log in with a link' },
      handler: (request) => open(context, request, undefined),
    },
  ]);
}

/** Whether there is such a repository is not said: the answer is the same for each. */
function repositoryOf(request: RestRequest): string {
  return requireRepositoryName(request.segment('repo'));
}

async function ask(
  { magicLinks }: MagicLinkContext,
  request: RestRequest,
  repository: string | undefined,
): Promise<HttpReply> {
  const tenant = namedTenant(request);
  const fields = bodyFields(request.body);
  const email = fields.string('email');
  const redirectUrl = fields.optionalString('redirect_url');
  const scope = repository === undefined ? { tenant } : { tenant, repository };
  const asked = await magicLinks.request(scope, { email, redirectUrl }, request.remoteAddress);
  return {
    status: 200,
    headers: { 'Cache-Control': 'no-store' },
    json: { message: MESSAGE, masked_email: asked.maskedEmail, expires_in_minutes: asked.minutes },
  };
}

async function open(
  context: MagicLinkContext,
  request: RestRequest,
  repository: string | undefined,
): Promise<HttpReply> {
  const token = singleParameter(request, 'token');
  if (token === undefined || token === '')
    throw invalid('The parameter `token` of the mail is missing', { field: 'token' });
  // Programs that look at mail ask with HEAD whether an address is there, and browsers load pages that may be wanted.
  if (request.method === 'HEAD') return { status: 204, headers: privateHeaders };
  if (isInAdvance(request)) return { status: 503, headers: privateHeaders };
  const { landing, pair } = await context.magicLinks.open(token, repository, clientOf(request), (tenant) =>
    repository === undefined ? { tenant } : repositoryScope(context, tenant, repository),
  );
  return { status: 302, headers: { ...privateHeaders, Location: `${landing}#${fragmentOf(pair)}` } };
}

/** Whether a browser asks for the page before the person has opened it; it asks again then. */
function isInAdvance(request: RestRequest): boolean {
  const purpose = request.header('sec-purpose') ?? request.header('purpose') ?? request.header('x-moz') ?? '';
  return /prefetch|preview/i.test(purpose);
}

function fragmentOf(pair: TokenPair): string {
  return new URLSearchParams({
    access_token: pair.access_token,
    refresh_token: pair.refresh_token,
    token_type: pair.token_type,
    expires_at: String(pair.expires_at),
  }).toString();
}
