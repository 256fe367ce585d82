import { IDENTITIES_PAGE_MAX, type Identity, type Session } from '#actors/identities/messages.ts';
import { ACCESS_PAGE_MAX, type AccessPage, accessStatuses } from '#actors/identities/people-messages.ts';
import type { RunSql } from '#actors/branch/sql-messages.ts';
import { shownAuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { AuthAnswers } from '#runtime/sql-plan/auth-answers.ts';
import {
  AUTH_SETTINGS,
  authArguments,
  authCallKey,
  type AuthTableName,
  isAuthTable,
} from '#runtime/sql-plan/auth-functions.ts';
import { parseStatementsInSteps } from '#runtime/sql-syntax/parse-statements.ts';
import { visit } from '#runtime/sql-syntax/visitor.ts';
import { requireTenantAdministrator } from '../access/permission.ts';
import type { AuthConfigurationContext } from '../identity/auth-configuration.ts';
import { requireTenantAdministration } from '../identity/auth-configuration.ts';
import type { AccessContext } from '../people/access-routes.ts';
import { personOf } from '../people/access-routes.ts';
import { requireDecider } from '../people/deciders.ts';
import type { RestRequest } from '../rest-route.ts';

/** Dependencies of the functions about how people authenticate. */
export type AuthFunctionsContext = AuthConfigurationContext & AccessContext;

/** Texts that call one of the functions have this; it may also be part of something else. */
const mayCall = /SVC_AUTH_(?:GET_SETTINGS|PROVIDERS|IDENTITIES|SESSIONS|ACCESS_REQUESTS)/i;

/** Most rows of one function. They are held in memory, and more than these nobody reads. */
const ROWS_MAX = 5_000;

/** Most people whose sessions are read by one call: each takes a query. */
const SESSION_OWNERS_MAX = 1_000;

type Rows = JsonValue[][];

/** What the functions are answered for. */
interface Asking {
  readonly context: AuthFunctionsContext;
  readonly request: RestRequest;
  readonly tenant: string;
  readonly caller: Caller;
}

/** Whether the answers of functions have to be fetched before statements are sent. */
export function callsAuthFunctions({ sql }: Pick<RunSql, 'sql'>): boolean {
  return mayCall.test(sql);
}

/**
 * The answers of the functions that statements call. Each is for those for whom the route is that answers the same.
 *
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`; `NOT_FOUND` for a repository, `REQUEST_TOO_EXPENSIVE` for too many rows;
 *   `VALIDATION_FAILED`
 * @see docs/interface/sql-access.md#settings-of-the-tenant
 */
export async function authAnswers(
  context: AuthFunctionsContext,
  request: RestRequest,
  { parameters, sql }: Pick<RunSql, 'parameters' | 'sql'>,
): Promise<AuthAnswers> {
  const { tenant } = request.principal;
  const caller = { ...engineCaller(tenant), deadlineMs: request.deadlineMs };
  const asking: Asking = { context, request, tenant, caller };
  const answers: Record<string, JsonValue> = {};
  for (const { args, name } of callsIn(sql, parameters)) {
    answers[authCallKey(name, args)] ??= await answerOf(asking, name, args);
  }
  return answers;
}

interface Call {
  readonly name: typeof AUTH_SETTINGS | AuthTableName;
  readonly args: readonly JsonValue[];
}

function callsIn(sql: string, parameters: readonly JsonValue[]): readonly Call[] {
  const calls: Call[] = [];
  for (const { statement, text } of atOnce(parseStatementsInSteps(sql))) {
    visit(statement, (node) => {
      if (node.kind === 'call' && node.name === AUTH_SETTINGS) calls.push({ name: node.name, args: [] });
      if (node.kind === 'function-table' && isAuthTable(node.name))
        calls.push({ name: node.name, args: authArguments(node, { parameters }, text) });
    });
  }
  return calls;
}

async function answerOf(asking: Asking, name: Call['name'], args: readonly JsonValue[]): Promise<JsonValue> {
  switch (name) {
    case 'SVC_AUTH_GET_SETTINGS':
      return await settings(asking);
    case 'SVC_AUTH_PROVIDERS':
      return await providers(asking);
    case 'SVC_AUTH_IDENTITIES':
      return await identities(asking, textOf(name, args[0]));
    case 'SVC_AUTH_SESSIONS':
      return await sessions(asking, textOf(name, args[0]));
    case 'SVC_AUTH_ACCESS_REQUESTS':
      return await accessRequests(asking, textOf(name, args[0]), textOf(name, args[1]));
  }
}

/** An argument that is a text; NULL is as if it were absent. */
function textOf(name: string, value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw invalid(`The arguments of ${name} are texts`);
}

/** @throws {ServiceError} `FORBIDDEN` for the key of an administrator, which does not open what is of the tenant */
export function requireNoKey(principal: Principal): void {
  if (principal.kind === 'admin' && principal.apiKeyId !== undefined)
    throw new ServiceError('FORBIDDEN', 'An API key opens content and repositories only; log in for this');
}

async function settings({ context, request, tenant }: Asking): Promise<JsonValue> {
  requireNoKey(request.principal);
  await requireTenantAdministration(context, request);
  return shownAuthConfiguration(await context.people.configuration(tenant), tenant);
}

async function providers({ context, request, tenant }: Asking): Promise<Rows> {
  requireNoKey(request.principal);
  await requireTenantAdministration(context, request);
  const { oidc_providers: found } = await context.people.configuration(tenant);
  return found.map((provider) => [
    provider.provider_id,
    'oidc',
    provider.display_name,
    provider.icon,
    provider.enabled,
    null,
  ]);
}

/** @param filter a part of the address or of the display name, in any letter case */
async function identities(asking: Asking, filter: string | undefined): Promise<Rows> {
  requireNoKey(asking.request.principal);
  requireTenantAdministrator(asking.request);
  const part = filter?.toLowerCase() ?? '';
  const rows: Rows = [];
  for await (const identity of people(asking)) {
    if (![identity.email, identity.display_name].some((text) => text.toLowerCase().includes(part))) continue;
    requireFewRows(rows.length + 1, 'SVC_AUTH_IDENTITIES', 'give a part of the address');
    rows.push([
      identity.identity_id,
      identity.email,
      identity.display_name,
      identity.email_verified,
      identity.is_active,
      identity.created_at,
      identity.last_login_at,
    ]);
  }
  return rows;
}

/** All people of the tenant, page by page. */
async function* people({ caller, context, tenant }: Asking): AsyncGenerator<Identity, void> {
  for (let offset = 0; ; offset += IDENTITIES_PAGE_MAX) {
    const query = { type: 'ListIdentities', offset, limit: IDENTITIES_PAGE_MAX } as const;
    const page = (await context.people.query<readonly Identity[]>(tenant, query, caller)) ?? [];
    yield* page;
    if (page.length < IDENTITIES_PAGE_MAX) return;
  }
}

/** Own sessions are for everybody who has some; those of others are for administrators. */
async function sessions(asking: Asking, identityId: string | undefined): Promise<Rows> {
  const { context, request, tenant } = asking;
  const { principal } = request;
  if (principal.kind === 'identity' && (identityId ?? principal.identityId) === principal.identityId)
    return await sessionsOf(asking, principal.identityId);
  requireNoKey(principal);
  requireTenantAdministrator(request);
  if (identityId !== undefined) {
    const { identity_id: found } = await context.people.require(tenant, identityId);
    return await sessionsOf(asking, found);
  }
  const rows: Rows = [];
  let owners = 0;
  for await (const { identity_id: id } of people(asking)) {
    owners += 1;
    if (owners > SESSION_OWNERS_MAX)
      throw tooManyRows('SVC_AUTH_SESSIONS', SESSION_OWNERS_MAX, 'people', 'give the id of one identity');
    rows.push(...(await sessionsOf(asking, id)));
    requireFewRows(rows.length, 'SVC_AUTH_SESSIONS', 'give the id of one identity');
  }
  return rows;
}

async function sessionsOf({ caller, context, tenant }: Asking, identityId: string): Promise<Rows> {
  const query = { type: 'ListSessions', identityId } as const;
  const found = (await context.people.query<readonly Session[]>(tenant, query, caller)) ?? [];
  return found.map((session) => [
    session.session_id,
    identityId,
    session.auth_strategy,
    session.user_agent,
    session.ip_address,
    new Date(session.created_ms).toISOString(),
    new Date(session.last_active_ms).toISOString(),
  ]);
}

/** @param named the repository; without one it is that of the request */
async function accessRequests(
  asking: Asking,
  named: string | undefined,
  given: string | undefined,
): Promise<Rows> {
  const { caller, context, request, tenant } = asking;
  const repository = named ?? request.segment('repo');
  requireNoKey(request.principal);
  if (request.principal.kind === 'anonymous') throw new ServiceError('UNAUTHORIZED');
  await requireDecider(context, request, repository);
  const status = accessStatuses.find((one) => one === given);
  if (given !== undefined && status === undefined)
    throw invalid(`The status of an access request is one of ${accessStatuses.join(', ')}`);
  const part = await context.members.partOf(tenant, repository);
  const rows: Rows = [];
  for (let offset = 0; ; offset += ACCESS_PAGE_MAX) {
    const page = { offset, limit: ACCESS_PAGE_MAX, ...(status === undefined ? {} : { status }) };
    const query = { type: 'ListAccess', repository: part, ...page } as const;
    const { entries } = (await context.people.query<AccessPage>(tenant, query, caller)) ?? { entries: [] };
    requireFewRows(rows.length + entries.length, 'SVC_AUTH_ACCESS_REQUESTS', 'give a status');
    for (const entry of entries) {
      const { created_at: created, id, identity_id: identityId, message, status: now } = entry;
      const email = (await personOf(context, tenant, identityId))?.email ?? entry.email;
      rows.push([id, identityId, email, repository, now, message, created]);
    }
    if (entries.length < ACCESS_PAGE_MAX) return rows;
  }
}

function requireFewRows(count: number, name: string, remedy: string): void {
  if (count > ROWS_MAX) throw tooManyRows(name, ROWS_MAX, 'rows', remedy);
}

function tooManyRows(name: string, most: number, what: string, remedy: string): ServiceError {
  const bound = most.toLocaleString('en');
  return new ServiceError('REQUEST_TOO_EXPENSIVE', `${name} reads at most ${bound} ${what}: ${remedy}`);
}
