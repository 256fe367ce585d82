import type { SettingsChange } from '#protocols/sql/settings-change.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { isJsonObject } from '#runtime/content/values/json-value.ts';
import {
  type AuthConfiguration,
  providerOf,
  shownProvider,
} from '#runtime/access/identity/auth-configuration.ts';
import { type ProviderChange, requireProvider } from '#runtime/access/identity/provider-changes.ts';
import { bodyShape } from '#protocols/http/requests/body-shape.ts';
import { otherSpelling } from '#protocols/http/requests/other-spelling.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { parseJson } from '#runtime/sql-values/json/parse-json.ts';
import {
  changeAuthConfiguration,
  changeProvider,
  requireTenantAdministration,
} from '../identity/auth-configuration.ts';
import { readProvider } from '../identity/auth-configuration-body.ts';
import { configurationSchema, providerSchema } from '../identity/auth-configuration-schema.ts';
import type { RestRequest } from '../rest-route.ts';
import { type AuthFunctionsContext, requireNoKey } from './auth-answers.ts';

const configurationShape = bodyShape(configurationSchema);
const providerShape = bodyShape(providerSchema);
/** Of a provider that is there already, every field may be absent. */
const partialProviderShape = bodyShape({ ...providerSchema, required: [] });

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
    case 'SVC_AUTH_UPDATE_SETTINGS': {
      const body = objectOf(name, first);
      configurationShape?.refuseUnknown(body);
      return await changeAuthConfiguration(context, request, body);
    }
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
  providerShape?.refuseUnknown(given);
  const provider = readProvider(given);
  await changeProvider(context, request, { kind: 'add', provider });
  return provider.provider_id;
}

async function updateProvider(
  context: AuthFunctionsContext,
  request: RestRequest,
  id: string,
  given: JsonObject,
): Promise<JsonValue> {
  partialProviderShape?.refuseUnknown(given);
  const stored = requireProvider(await configurationOf(context, request), id);
  const isGiven = (name: string): boolean =>
    [name, otherSpelling(name)].some((spelling) => Object.hasOwn(given, spelling));
  // Each field is checked as a part of the whole. Only those that are given are changed.
  const others = Object.entries(shownProvider(stored)).filter(([name]) => !isGiven(name));
  const { provider_id: named, ...fields } = readProvider({ ...Object.fromEntries(others), ...given });
  if (named !== id)
    throw invalid('The `provider_id` of a provider cannot be changed', { field: 'provider_id' });
  const changed = Object.fromEntries(Object.entries(fields).filter(([name]) => isGiven(name)));
  if (Object.keys(changed).length === 0) return shownProvider(stored);
  const change: ProviderChange = { kind: 'update', id, fields: changed };
  const { configuration } = await changeProvider(context, request, change);
  return shownProvider(requireProvider(configuration, id));
}

async function removeProvider(
  context: AuthFunctionsContext,
  request: RestRequest,
  id: string,
): Promise<boolean> {
  if (providerOf(await configurationOf(context, request), id) === undefined) return false;
  const { isChanged } = await changeProvider(context, request, { kind: 'remove', id });
  return isChanged;
}

async function configurationOf(
  { people }: AuthFunctionsContext,
  { principal: { tenant } }: RestRequest,
): Promise<AuthConfiguration> {
  return await people.configuration(tenant);
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
