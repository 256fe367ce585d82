/**
 * The tenant that exists from the start. It holds the registry of tenants, its admins administer the system, and it is
 * the default for a caller without a token who names no tenant.
 */
export const SYSTEM_TENANT = 'default';
