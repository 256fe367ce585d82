import { AdminClient } from './admin-client.ts';
import { askPassword } from './ask-password.ts';
import { UsageError } from './operator-error.ts';

/** Default address of a server. */
export const DEFAULT_URL = 'http://127.0.0.1:8080';

/** Lines of a usage text about the connection. */
export const connectionUsage = `  GROVE_URL         as --url
  GROVE_TOKEN       token of an administrator; without it the program logs in
  GROVE_PASSWORD    password for the login, else SVC_ADMIN_PASSWORD; without both the program asks for it`;

/** Connection options of a program that talks to a server. */
export const connectionOptions = {
  url: { type: 'string' },
  user: { type: 'string' },
  token: { type: 'string' },
} as const;

/** Connection settings from {@link connectionOptions}. */
export function connectionOf(
  values: {
    readonly [name in keyof typeof connectionOptions]?: string | undefined;
  },
): ConnectionSettings {
  return {
    url: values.url ?? (process.env.GROVE_URL || DEFAULT_URL),
    user: values.user ?? 'admin',
    ...(values.token === undefined ? {} : { token: values.token }),
  };
}

/** Which server to connect to, and as which user. */
export interface ConnectionSettings {
  readonly url: string;
  /** Administrator of tenant `default`. */
  readonly user: string;
  /** Default: `GROVE_TOKEN`. */
  readonly token?: string;
}

/**
 * Returns a logged-in client. It uses the token, else a password from the environment or the terminal.
 *
 * @throws {OperatorError}
 */
export async function connect({ token, url, user }: ConnectionSettings): Promise<AdminClient> {
  const given = token ?? process.env.GROVE_TOKEN;
  if (given) return new AdminClient(url, given);
  const client = new AdminClient(url);
  if (!(await client.logIn(user, await passwordOf(user))))
    throw new UsageError(`${url} does not take this password for ${user}.`);
  return client;
}

async function passwordOf(user: string): Promise<string> {
  const { GROVE_PASSWORD, SVC_ADMIN_PASSWORD } = process.env;
  const given = GROVE_PASSWORD || SVC_ADMIN_PASSWORD;
  if (given) return given;
  if (!process.stdin.isTTY)
    throw new UsageError(`Which password does ${user} have? Set GROVE_PASSWORD, or GROVE_TOKEN to a token.`);
  const typed = await askPassword(`Password of ${user}: `);
  if (typed === undefined) throw new UsageError('Without a password there is no answer.');
  return typed;
}
