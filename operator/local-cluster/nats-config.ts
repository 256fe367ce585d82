import { isAtLeast, parseServerVersion } from '#cluster/nats/server-version.ts';

/** The first version of nats-server with `sync_interval`. Older versions refuse to start with it. */
const SYNC_INTERVAL_SINCE = '2.10.0';

/**
 * The configuration of a nats-server for its version.
 *
 * @param text `nats.conf`
 * @param version as `nats-server --version` prints it; an unreadable version counts as new
 */
export function natsConfigFor(text: string, version: string): string {
  const parsed = parseServerVersion(version.replace(/^nats-server:\s*/, ''));
  if (parsed === undefined || isAtLeast(parsed, [SYNC_INTERVAL_SINCE])) return text;
  return text.replace(/^\s*sync_interval:.*\n/m, '');
}
