/** Keys of a member and the environment variables that may replace their files. */
const variables = {
  'jwt-secret': 'JWT_SECRET',
  'master-key': 'SVC_MASTER_KEY',
  'master-key-previous': 'SVC_MASTER_KEY_PREVIOUS',
} as const;

/** Returns the names of the keys that are in the environment of this process. */
export function givenKeys(): ReadonlySet<string> {
  return new Set(
    Object.entries(variables).flatMap(([name, variable]) => (process.env[variable] ? [name] : [])),
  );
}
