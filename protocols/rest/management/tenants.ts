import type { ListTenants, TenantEntry } from '#actors/tenant/messages.ts';
import type { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { requireAdminPassword } from '#runtime/access/password-rule.ts';
import { policyFor } from '#runtime/access/policy.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { Delivery } from '#runtime/actor/ports.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { requireTenantName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import {
  givenFlags,
  givenFlagsSchema,
  newFlags,
  requireAdminEmail,
  requireUsername,
} from '../access/account-fields.ts';
import { requireSystemAdministrator } from '../access/permission.ts';
import type { NewTenant, Provisioning } from '../ports.ts';
import { callerOf, deliveryOf, type RestContext } from '../rest-context.ts';
import type { RestRequest, RestRoute } from '../rest-route.ts';

/** Dependencies of the tenant routes. */
export interface TenantsContext extends RestContext {
  readonly provisioning: Provisioning;
  readonly hasher: PasswordHasher;
}

const tag = 'Tenants';

const tenantSchema = {
  type: 'object',
  properties: {
    tenant_id: { type: 'string' },
    metadata: { type: 'object' },
    created_at: { type: 'string', format: 'date-time' },
  },
} as const;

/**
 * The registry of tenants, for system administrators, who are the administrators of tenant `default`. There is no
 * registry of deployments: deployment keys are accepted without effect.
 *
 * @see docs/interface/accounts.md#tenants
 */
export function tenantRoutes(context: TenantsContext): readonly RestRoute[] {
  return [listRoute(context), readRoute(context), createRoute(context)];
}

/** These routes authorize callers against the system tenant, whatever their own tenant is. */
function systemCaller(caller: Caller): Caller {
  return { ...caller, policy: policyFor(caller.principal, SYSTEM_TENANT) };
}

async function tenants(
  context: RestContext,
  request: RestRequest,
  query: ListTenants,
): Promise<readonly TenantEntry[]> {
  const caller = systemCaller(callerOf(request));
  return (await context.router.query(actorId(SYSTEM_TENANT, 'tenant'), query, caller)) as TenantEntry[];
}

function listRoute(context: TenantsContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/management/registry/tenants',
    operationId: 'listTenants',
    body: 'none',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'Every tenant',
      tag,
      responses: {
        200: { description: 'Sorted by name.', schema: { type: 'array', items: tenantSchema } },
        403: { description: 'The caller is no administrator of the system.' },
      },
    },
    handler: async (request) => ({
      status: 200,
      json: await tenants(context, request, { type: 'ListTenants' }),
    }),
  };
}

function readRoute(context: TenantsContext): RestRoute {
  return {
    method: 'GET',
    pattern: '/api/management/registry/tenants/{id}',
    operationId: 'readTenant',
    body: 'none',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'A tenant',
      tag,
      responses: {
        200: { description: 'The tenant.', schema: tenantSchema },
        403: { description: 'The caller is no administrator of the system.' },
        404: { description: 'There is no such tenant.' },
      },
    },
    async handler(request) {
      const tenantId = request.segment('id');
      const [tenant] = await tenants(context, request, { type: 'ListTenants', tenantId });
      if (tenant === undefined) throw new ServiceError('TENANT_NOT_FOUND', `Tenant '${tenantId}' not found`);
      return { status: 200, json: tenant };
    },
  };
}

function createRoute(context: TenantsContext): RestRoute {
  return {
    method: 'POST',
    pattern: '/api/management/registry/tenants',
    operationId: 'createTenant',
    body: 'json',
    auth: 'required',
    permit: requireSystemAdministrator,
    docs: {
      summary: 'Create a tenant with its first administrator',
      description:
        'The account may log in at once. `must_change_password` is set unless the body says otherwise, because the creator of the tenant knows the password.',
      tag,
      requestSchema: {
        type: 'object',
        required: ['tenant_id', 'admin'],
        properties: {
          tenant_id: { type: 'string', pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' },
          metadata: { type: 'object' },
          admin: {
            type: 'object',
            required: ['password'],
            properties: {
              username: { type: 'string', default: 'admin' },
              email: { type: ['string', 'null'] },
              password: { type: 'string' },
              must_change_password: { type: 'boolean', default: true },
              access_flags: givenFlagsSchema,
            },
            additionalProperties: false,
          },
        },
        additionalProperties: false,
      },
      responses: {
        201: { description: 'The new tenant.', schema: tenantSchema },
        400: { description: 'A name is not allowed or the password is too weak.' },
        403: { description: 'The caller is no administrator of the system.' },
        409: { description: 'A tenant of this name exists.' },
      },
    },
    handler: async (request) => ({ status: 201, json: await createTenant(context, request) }),
  };
}

async function createTenant(context: TenantsContext, request: RestRequest): Promise<TenantEntry> {
  const fields = bodyFields(request.body);
  const tenantId = fields.string('tenant_id');
  const metadata = (fields.optionalObject('metadata') ?? {}) as JsonObject;
  const admin = fields.fields('admin');
  const username = admin.optionalString('username') ?? 'admin';
  const email = admin.optionalString('email') ?? null;
  const password = admin.string('password');
  const mustChangePassword = admin.optionalBoolean('must_change_password') ?? true;
  const flags = givenFlags(admin);
  const delivery = deliveryOf(request);
  const sent: Delivery = { ...delivery, caller: systemCaller(delivery.caller) };
  requireTenantName(tenantId);
  requireUsername(username, 'admin.username');
  requireAdminEmail(email, 'admin.email');
  requireAdminPassword(password, 'admin.password');
  const tenant: NewTenant = {
    tenantId,
    metadata,
    admin: {
      username,
      email,
      passwordHash: await context.hasher.hash(password),
      mustChangePassword,
      ...(flags === undefined ? {} : { accessFlags: newFlags(flags) }),
    },
  };
  return context.provisioning.createTenant(tenant, sent);
}
