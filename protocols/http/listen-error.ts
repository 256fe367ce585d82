import { createServer } from 'node:net';

/** An address cannot be listened on; the message is one line that names it and what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** Ports above a taken one that are tried, so that the message can name one that is free. */
const PORTS_TRIED = 20;

const PORT_MAX = 65_535;

/** What to do about the errors of listening that a person can mend, besides a port that is in use. */
const remedies: Readonly<Record<string, string>> = {
  EACCES: 'this user may not use the port; start with a PORT above 1023',
  EADDRNOTAVAIL: 'SVC_HOST is not an address of this machine',
  ENOTFOUND: 'SVC_HOST is not known as a name',
};

/**
 * What is wrong with an address, in one line.
 *
 * @param code that of the system; default: the port is in use, which is all that the HTTP library tells
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
 * Makes sure that an address can be listened on, without taking it: so that a start that cannot succeed ends before it
 * has made anything. Another process may still be quicker; listening itself fails with the same error then.
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

/** @returns what the system refuses the address with; undefined: it does not */
function refusalOf(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'UNKNOWN'));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });
}
