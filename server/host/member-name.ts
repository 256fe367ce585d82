import { hostname } from 'node:os';

/**
 * Returns the name of a member: the configured one, else made of its host and port.
 *
 * @param configured `SVC_MEMBER_ID`
 * @param port it listens on
 */
export function memberName(configured: string | undefined, port: number | string): string {
  return configured ?? `${hostname()}:${port}`;
}
