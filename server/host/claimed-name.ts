import { createServer } from 'node:net';

/**
 * Claims a name for this process among all processes of the machine that share its network namespace. No file
 * represents it, so it cannot be removed, and the system releases it when the process ends for any reason.
 *
 * Only Linux has such names (abstract sockets, unix(7)). Elsewhere, and where the system refuses to create a socket,
 * nothing is claimed and the claim succeeds: it supplements a lock and does not replace it.
 *
 * @returns releases the name, at once; undefined: another process has it
 */
export async function claimName(name: string): Promise<(() => void) | undefined> {
  if (process.platform !== 'linux') return () => {};
  // Clients that connect receive nothing; only the name matters.
  const server = createServer((socket) => socket.destroy());
  const code = await new Promise<string | undefined>((resolve) => {
    server.once('error', ({ code: refusal }: NodeJS.ErrnoException) => resolve(refusal ?? 'unknown'));
    server.listen({ path: `\0${name}` }, () => resolve(undefined));
  });
  if (code === 'EADDRINUSE') return undefined;
  if (code !== undefined) return () => {};
  server.unref();
  // Connections that cannot be accepted have no effect.
  server.on('error', () => {});
  return () => void server.close();
}
