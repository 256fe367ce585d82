/** Keys of a member and the variables that may hold them instead of files. */
const variables = { 'jwt-secret': 'JWT_SECRET', 'master-key': 'SVC_MASTER_KEY' } as const;

/** Names of the keys that are in the environment of this process. */
export function givenKeys(): ReadonlySet<string> {
  return new Set(
    Object.entries(variables).flatMap(([name, variable]) => (process.env[variable] ? [name] : [])),
  );
}
