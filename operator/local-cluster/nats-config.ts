import { isAtLeast, parseServerVersion } from '#cluster/nats/server-version.ts';

/** The first nats-server whose configuration may say when to flush; older ones refuse to start with it. */
const SYNC_INTERVAL_SINCE = '2.10.0';

/**
 * The configuration of a nats-server as its version takes it.
 *
 * @param text `nats.conf`
 * @param version as `nats-server --version` prints it; one that cannot be read is taken for a new one
 */
export function natsConfigFor(text: string, version: string): string {
  const parsed = parseServerVersion(version.replace(/^nats-server:\s*/, ''));
  if (parsed === undefined || isAtLeast(parsed, [SYNC_INTERVAL_SINCE])) return text;
  return text.replace(/^\s*sync_interval:.*\n/m, '');
}
