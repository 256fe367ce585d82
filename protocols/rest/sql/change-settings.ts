import type { SettingsChange } from '#protocols/sql/settings-change.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { isJsonObject } from '#runtime/content/values/json-value.ts';
import { shownAuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { parseJson } from '#runtime/sql-values/json/parse-json.ts';
import { changeAuthConfiguration, requireTenantAdministration } from '../identity/auth-configuration.ts';
import type { RestRequest } from '../rest-route.ts';
import { type AuthFunctionsContext, requireNoKey } from './auth-answers.ts';

/** The only kind of provider that is configured by hand. */
const OIDC = 'oidc';

/**
 * Changes how people authenticate, as `PUT /api/tenants/{tenant}/auth/config` does: with its checks, and its entry in the
 * audit trail.
 *
 * @returns the value of the function
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`; `ALREADY_EXISTS`, `PROVIDER_NOT_FOUND`; the errors of that route
 * @see docs/interface/sql-access.md#settings-of-the-tenant
 */
export async function changeSettings(
  context: AuthFunctionsContext,
  request: RestRequest,
  change: SettingsChange,
): Promise<JsonValue> {
  requireNoKey(request.principal);
  await requireTenantAdministration(context, request);
  try {
    return await changed(context, request, change);
  } catch (error) {
    // The body of the request is the text of the statements, and there is nothing wrong with it.
    if (error instanceof ServiceError && error.code === 'UNPROCESSABLE_BODY')
      throw invalid(error.message, error.field === undefined ? {} : { field: error.field });
    throw error;
  }
}

async function changed(
  context: AuthFunctionsContext,
  request: RestRequest,
  { args, name }: SettingsChange,
): Promise<JsonValue> {
  const [first, second] = args;
  switch (name) {
    case 'SVC_AUTH_UPDATE_SETTINGS':
      return await changeAuthConfiguration(context, request, objectOf(name, first));
    case 'SVC_AUTH_ADD_PROVIDER':
      return await addProvider(context, request, textOf(name, first), objectOf(name, second));
    case 'SVC_AUTH_UPDATE_PROVIDER':
      return await updateProvider(context, request, textOf(name, first), objectOf(name, second));
    case 'SVC_AUTH_REMOVE_PROVIDER':
      return await removeProvider(context, request, textOf(name, first));
    default:
      throw invalid(`Function not found: ${name}`);
  }
}

async function addProvider(
  context: AuthFunctionsContext,
  request: RestRequest,
  type: string,
  given: JsonObject,
): Promise<JsonValue> {
  if (type !== OIDC) throw invalid(`Unknown type of provider '${type}'; there is '${OIDC}'`);
  const providers = await providersOf(context, request);
  const id = given.provider_id;
  if (providers.some(({ provider_id: other }) => other === id))
    throw new ServiceError('ALREADY_EXISTS', `Provider '${String(id)}' already exists`);
  await replaceProviders(context, request, [...providers, given]);
  return id as JsonValue;
}

async function updateProvider(
  context: AuthFunctionsContext,
  request: RestRequest,
  id: string,
  given: JsonObject,
): Promise<JsonValue> {
  const providers = await providersOf(context, request);
  const stored = providers.find(({ provider_id: other }) => other === id);
  if (stored === undefined) throw new ServiceError('PROVIDER_NOT_FOUND', `Provider '${id}' not found`);
  if ((given.provider_id ?? id) !== id) throw invalid('The `provider_id` of a provider cannot be changed');
  const changed = { ...stored, ...given, provider_id: id };
  const all = await replaceProviders(
    context,
    request,
    providers.map((one) => (one === stored ? changed : one)),
  );
  return all.find(({ provider_id: other }) => other === id) ?? null;
}

async function removeProvider(
  context: AuthFunctionsContext,
  request: RestRequest,
  id: string,
): Promise<boolean> {
  const providers = await providersOf(context, request);
  const others = providers.filter(({ provider_id: other }) => other !== id);
  if (others.length === providers.length) return false;
  await replaceProviders(context, request, others);
  return true;
}

async function providersOf(
  { people }: AuthFunctionsContext,
  { principal: { tenant } }: RestRequest,
): Promise<readonly JsonObject[]> {
  return shownProviders(shownAuthConfiguration(await people.configuration(tenant), tenant));
}

async function replaceProviders(
  context: AuthFunctionsContext,
  request: RestRequest,
  providers: readonly JsonObject[],
): Promise<readonly JsonObject[]> {
  return shownProviders(await changeAuthConfiguration(context, request, { oidc_providers: providers }));
}

function shownProviders({ oidc_providers: providers }: JsonObject): readonly JsonObject[] {
  return providers as readonly JsonObject[];
}

function textOf(name: string, value: JsonValue | undefined): string {
  if (typeof value === 'string') return value;
  throw invalid(`The first argument of ${name} is a text`);
}

/** A JSON object, which may be given as text. */
function objectOf(name: string, value: JsonValue | undefined): JsonObject {
  const json = typeof value === 'string' ? parseJson(value) : value;
  if (json !== undefined && isJsonObject(json)) return json;
  throw invalid(`${name} takes a JSON object`);
}
