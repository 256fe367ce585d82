import { Resolver } from 'node:dns/promises';
import { unreachable } from './egress-errors.ts';

/** Time that a name server has for an answer before the next one is asked, in milliseconds. */
const SERVER_MS = 2_000;

/** Rounds over all name servers. */
const ROUNDS = 2;

/** Codes that say for certain that a name has no addresses of the family. */
const hasNone: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/**
 * Resolves a name to all of its addresses, IPv4 first. It asks the name servers directly, with sockets: the resolver of
 * the system uses a thread of the pool for each name, where some slow name servers of strangers would delay the flushes
 * of the journal. So files such as `/etc/hosts` and search domains have no effect.
 *
 * @param servers name servers; undefined: those of the system
 * @param signal ends it with the reason of the signal
 * @returns empty when the name does not exist or has no address
 * @throws {ServiceError} `UPSTREAM_UNREACHABLE` when no server answered
 */
export async function resolveName(
  name: string,
  servers: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const resolver = new Resolver({ timeout: SERVER_MS, tries: ROUNDS });
  if (servers !== undefined) resolver.setServers(servers);
  const stop = (): void => resolver.cancel();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    signal.throwIfAborted();
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    // One family is enough: requests go only to addresses that were found.
    if (addresses.length > 0) return addresses;
    const failed = answers.find((answer) => answer.status === 'rejected' && !isNone(answer.reason));
    if (failed === undefined) return [];
    throw unreachable(
      `The name '${name}' cannot be resolved at present`,
      (failed as PromiseRejectedResult).reason,
    );
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function isNone(reason: unknown): boolean {
  return hasNone.has((reason as NodeJS.ErrnoException).code ?? '');
}
