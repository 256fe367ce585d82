import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { AdminClient } from '#operator/admin-client.ts';
import { follow } from '#operator/operation.ts';
import { systemClock } from '#runtime/base/time/clock.ts';

let server: Server | undefined;

afterEach(() => void server?.close());

/** A server with one operation that runs until it is given up, or was asked for often enough. @returns how to follow it */
async function serving(deleteStatus: number): Promise<{ readonly ended: Promise<unknown>; stop(): void }> {
  let state = 'running';
  const error = { code: 'REQUEST_CANCELLED', message: 'The restore was given up' };
  server = createServer((request, response) => {
    const isGivenUp = request.method === 'DELETE' && deleteStatus === 200;
    if (isGivenUp) state = 'failed';
    response.writeHead(request.method === 'DELETE' ? deleteStatus : 200);
    response.end(
      JSON.stringify({ state, bytes: 0, current: null, error: state === 'failed' ? error : null }),
    );
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const client = new AdminClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const interrupted = new AbortController();
  const ended = follow(client, '/restores/1', systemClock, () => {}, interrupted.signal);
  return { ended, stop: () => interrupted.abort() };
}

it('cancels the followed operation when the server supports it, and waits until it has been cleaned up', async () => {
  const { ended, stop } = await serving(200);
  stop();
  await expect(ended).rejects.toThrow('The restore was given up');
});

it('reports that a server without cancellation goes on, and how to follow it', async () => {
  const { ended, stop } = await serving(405);
  stop();
  await expect(ended).rejects.toThrow(/may go on with it: ask for GET \/restores\/1/);
});
