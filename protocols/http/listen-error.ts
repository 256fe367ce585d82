import { createServer } from 'node:net';

/** An address cannot be listened on; the message is one line that names it and what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

/** What to do about the errors of listening that a person can mend. */
const remedies: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process has the port; stop it, or set PORT to a free one',
  EACCES: 'the user of this process may not use the port; set PORT to one above 1023',
  EADDRNOTAVAIL: 'SVC_HOST is not an address of this machine',
  ENOTFOUND: 'SVC_HOST is not known as a name',
};

/** @param code that of the system; undefined where it is not known */
export function listenError(host: string, port: number, code: string | undefined): ListenError {
  const remedy = remedies[code ?? 'EADDRINUSE'] ?? `the system says ${code}`;
  return new ListenError(`cannot listen on ${host}:${port}: ${remedy}`);
}

/**
 * Makes sure that an address can be listened on, without taking it: so that a start that cannot succeed ends before it
 * has made anything. Another process may still be quicker; listening itself fails with the same error then.
 *
 * @throws {ListenError}
 */
export function requireFreePort(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => reject(listenError(host, port, error.code)));
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
}
