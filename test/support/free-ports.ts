import { createServer } from 'node:net';

/** Ports are taken from below the range that outgoing connections use, so that no client sits on one. */
const PORT_MIN = 12_000;
const PORT_MAX = 28_000;

/**
 * The first of several ports in a row that nobody has, and of which the ones at the offsets are free too. Somebody
 * may take one before it is used; tests of this machine choose at random, so that they seldom meet.
 */
export async function freePorts(offsets: readonly number[]): Promise<number> {
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * (PORT_MAX - PORT_MIN));
    const areFree = await Promise.all(offsets.map((offset) => isFree(port + offset)));
    if (areFree.every(Boolean)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
