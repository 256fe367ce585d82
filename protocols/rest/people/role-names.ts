import type { BodyFields } from '#protocols/http/requests/body-fields.ts';
import type { JsonSchema } from '#protocols/http/route.ts';
import { invalid } from '#runtime/errors/service-error.ts';

/** Roles that one request names. */
const ROLES_MAX = 50;

/** Longest id of a role that counts, in UTF-16 units. */
const ROLE_CHARACTERS_MAX = 256;

/** Beginning of a role that is named by the path of its node. */
const FOLDER = '/roles/';

/** Schema of a list of roles in a body. */
export const rolesSchema: JsonSchema = {
  type: 'array',
  items: { type: 'string', minLength: 1, maxLength: ROLE_CHARACTERS_MAX },
  maxItems: ROLES_MAX,
};

/**
 * The ids of roles in a body, each once; `/roles/editor` means `editor`.
 *
 * @returns undefined without the field
 * @throws {ServiceError} `VALIDATION_FAILED`, `UNPROCESSABLE_BODY`
 */
export function optionalRoles(fields: BodyFields, name: string): readonly string[] | undefined {
  return fields.has(name) ? requiredRoles(fields, name) : undefined;
}

/** As {@link optionalRoles}, of a field that has to be there. */
export function requiredRoles(fields: BodyFields, name: string): readonly string[] {
  const roles = fields
    .strings(name)
    .map((role) => (role.startsWith(FOLDER) ? role.slice(FOLDER.length) : role));
  if (roles.length > ROLES_MAX)
    throw invalid(`\`${name}\` has more than ${ROLES_MAX} entries`, { field: name });
  if (roles.some((role) => role === '' || role.length > ROLE_CHARACTERS_MAX))
    throw invalid(`\`${name}\` has ids of 1 to ${ROLE_CHARACTERS_MAX} characters`, { field: name });
  return [...new Set(roles)];
}
