/**
 * The tenant that is there from the start. It keeps the registry of tenants, its admins administer the
 * system, and it is meant wherever a caller without a token names none.
 */
export const SYSTEM_TENANT = 'default';
