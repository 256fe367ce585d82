import type { ListSessions, RevokeSession, Session } from '#actors/identities/messages.ts';
import type { HttpReply, SharedAddress } from '#protocols/http/route.ts';
import type { IdentityPrincipal } from '#runtime/access/principal.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { assert } from '#runtime/base/assert.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';
import type { IdentityContext } from './identity-context.ts';

const uuidShape = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const sessionSchema = {
  type: 'object',
  properties: {
    id: { type: 'string', format: 'uuid' },
    auth_strategy: { type: 'string' },
    user_agent: { type: ['string', 'null'] },
    ip_address: { type: ['string', 'null'] },
    created_at: { type: 'string', format: 'date-time' },
    last_active_at: { type: 'string', format: 'date-time' },
    is_current: { type: 'boolean' },
  },
} as const;

/** `/auth/{repo}/me` has as many variables, and some texts match both patterns. */
const sessionAddress: SharedAddress = {
  pattern: '/auth/{list}/{session_id}',
  variable: 'list',
  description: 'What the session is in: the own sessions.',
  value: 'sessions',
  operationId: 'revokeOwnSession',
  summary: 'End an own session',
};

/**
 * The sessions of the caller.
 *
 * @see docs/interface/identities.md#sessions
 */
export function sessionRoutes(context: IdentityContext): readonly RestRoute[] {
  return [logoutRoute(context), listRoute(context), revokeRoute(context)];
}

function logoutRoute(context: IdentityContext): RestRoute {
  return {
    method: 'POST',
    pattern: '/auth/logout',
    operationId: 'logOutIdentity',
    body: 'none',
    auth: 'required',
    audience: 'identities',
    beforePasswordChange: true,
    docs: {
      summary: 'Log out',
      description:
        'Ends the session of the token. Its refresh token stops working; the access token works until it expires.',
      tag: 'Identities',
      responses: {
        204: { description: 'The session has ended.' },
        401: { description: 'There is no valid login.' },
        403: { description: 'The token is not that of an identity.' },
      },
    },
    async handler(request): Promise<HttpReply> {
      const principal = identityOf(request);
      try {
        await revoke(context, principal, principal.sessionId, 'logged_out');
      } catch (error) {
        // The session ended so long ago that it was forgotten.
        if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
      }
      return { status: 204 };
    },
  };
}

function listRoute({ router }: IdentityContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/auth/sessions',
    operationId: 'listOwnSessions',
    body: 'none',
    auth: 'required',
    audience: 'identities',
    docs: {
      summary: 'The own sessions',
      description: 'Those that have not ended, newest first.',
      tag: 'Identities',
      responses: {
        200: {
          description: 'The sessions.',
          schema: { type: 'object', properties: { sessions: { type: 'array', items: sessionSchema } } },
        },
        401: { description: 'There is no valid login.' },
        403: { description: 'The token is not that of an identity.' },
      },
    },
    async handler(request): Promise<HttpReply> {
      const { identityId, sessionId, tenant } = identityOf(request);
      const query: ListSessions = { type: 'ListSessions', identityId };
      const caller = { ...engineCaller(tenant), deadlineMs: request.deadlineMs };
      const sessions = (await router.query(
        actorId(tenant, 'identities'),
        query,
        caller,
      )) as readonly Session[];
      return { status: 200, json: { sessions: sessions.map((session) => shownSession(session, sessionId)) } };
    },
  };
}

function revokeRoute(context: IdentityContext): RestRoute {
  return {
    method: 'DELETE',
    pattern: '/auth/sessions/{session_id}',
    operationId: 'revokeOwnSession',
    body: 'none',
    auth: 'required',
    audience: 'identities',
    docs: {
      summary: 'End an own session',
      description: 'As a logout of that session.',
      tag: 'Identities',
      address: sessionAddress,
      responses: {
        204: { description: 'The session has ended.' },
        401: { description: 'There is no valid login, or the session of the token has ended.' },
        403: { description: 'The token is not that of an identity.' },
        404: { description: 'The caller has no such session.' },
      },
    },
    async handler(request): Promise<HttpReply> {
      const sessionId = request.segment('session_id').toLowerCase();
      if (!uuidShape.test(sessionId)) throw new ServiceError('NOT_FOUND', 'Session not found');
      const principal = identityOf(request);
      await revoke(context, principal, sessionId, 'revoked', principal.sessionId);
      return { status: 204 };
    },
  };
}

/**
 * @param askingSessionId which must be open; absent for a logout
 * @throws {ServiceError} `NOT_FOUND` for a session that the identity does not have; `UNAUTHORIZED`
 */
async function revoke(
  { router }: IdentityContext,
  { identityId, tenant }: IdentityPrincipal,
  sessionId: string,
  reason: RevokeSession['reason'],
  askingSessionId?: string,
): Promise<void> {
  const asking = askingSessionId === undefined ? {} : { askingSessionId };
  const command: RevokeSession = { type: 'RevokeSession', identityId, sessionId, reason, ...asking };
  await router.command(actorId(tenant, 'identities'), command, { caller: engineCaller(tenant) });
}

function identityOf({ principal }: RestRequest): IdentityPrincipal {
  assert(principal.kind === 'identity', 'the route is for identities');
  return principal;
}

function shownSession(session: Session, current: string): JsonObject {
  return {
    id: session.session_id,
    auth_strategy: session.auth_strategy,
    user_agent: session.user_agent,
    ip_address: session.ip_address,
    created_at: new Date(session.created_ms).toISOString(),
    last_active_at: new Date(session.last_active_ms).toISOString(),
    is_current: session.session_id === current,
  };
}
