import { createServer } from 'node:net';

/** An address that cannot be bound. The message is one line with the address and a remedy. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Ports above an occupied one that are tried, so that the message can name a free one. */
const PORTS_TRIED = 20;

const PORT_MAX = 65_535;

/** Remedies for bind errors that a person can fix, besides a port in use. */
const remedies: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use the port; start with a PORT above 1023',
  EADDRNOTAVAIL: 'SVC_HOST is not an address of this machine',
  ENOTFOUND: 'SVC_HOST is not known as a name',
};

/**
 * Describes why an address cannot be bound, in one line.
 *
 * @param code of the system's error; default: the port is in use, the only cause the HTTP library reports
 */
export async function listenError(host: string, port: number, code = 'EADDRINUSE'): Promise<ListenError> {
  if (code !== 'EADDRINUSE') {
    const remedy = remedies[code] ?? `the system says ${code}`;
    return new ListenError(`cannot listen on ${host}:${port}: ${remedy}`);
  }
  const free = await freePortAbove(host, port);
  const remedy = free === undefined ? 'set PORT to a free one' : `start with PORT=${free}`;
  return new ListenError(`port ${port} is in use on ${host}; ${remedy}, or stop the process that has it`);
}

/**
 * Checks that an address can be bound, without taking it, so that a start that must fail does so before it has
 * created anything. Another process may still take the port; listening then fails with the same error.
 *
 * @throws {ListenError}
 */
export async function requireFreePort(host: string, port: number): Promise<void> {
  const code = await refusalOf(host, port);
  if (code !== undefined) throw await listenError(host, port, code);
}

async function freePortAbove(host: string, taken: number): Promise<number | undefined> {
  const last = Math.min(taken + PORTS_TRIED, PORT_MAX);
  for (let port = taken + 1; port <= last; port += 1)
    if ((await refusalOf(host, port)) === undefined) return port;
  return undefined;
}

/** @returns the system's error code for the address; undefined when it can be bound */
function refusalOf(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'UNKNOWN'));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
}
