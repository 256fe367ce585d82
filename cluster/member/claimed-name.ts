import { createServer } from 'node:net';

/**
 * Claims a name for this process among all processes of the machine that share its network namespace. No file is behind
 * it, so nobody can remove it, and the system takes it back when the process ends, however it dies.
 *
 * Linux alone has such names (abstract sockets, unix(7)). Elsewhere, and where the system refuses to make a socket,
 * nothing is claimed and the claim succeeds: it stands beside a lock and is not the lock.
 *
 * @returns gives the name back, at once; undefined: another process has it
 */
export async function claimName(name: string): Promise<(() => void) | undefined> {
  if (process.platform !== 'linux') return () => {};
  // Whoever connects hears nothing; the name is all there is.
  const server = createServer((socket) => socket.destroy());
  const code = await new Promise<string | undefined>((resolve) => {
    server.once('error', ({ code: refusal }: NodeJS.ErrnoException) => resolve(refusal ?? 'unknown'));
    server.listen({ path: `\0${name}` }, () => resolve(undefined));
  });
  if (code === 'EADDRINUSE') return undefined;
  if (code !== undefined) return () => {};
  server.unref();
  // Connections that cannot be accepted concern nobody.
  server.on('error', () => {});
  return () => void server.close();
}
