import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { AdminClient } from './admin-client.ts';
import { OperatorError } from './operator-error.ts';

/** Between two questions how far it is, in milliseconds. */
const POLL_MS = 300;

/** What a backup, a restore and a check have in common on the wire. */
export interface Operation {
  readonly state: 'running' | 'done' | 'failed';
  readonly bytes: number;
  readonly current: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/**
 * Asks for something that takes a while.
 *
 * @throws {OperatorError} with what the server says against it
 */
export async function begin<O extends Operation>(
  client: AdminClient,
  path: string,
  body?: object,
): Promise<O> {
  const { json, status } = await client.send('POST', path, body);
  if (status === 202) return json as O;
  if (status === 401) throw new OperatorError('The server does not take this token; it may have expired.');
  if (status === 403) throw new OperatorError('Only administrators of tenant default may do this.');
  const { message } = (json ?? {}) as { readonly message?: string };
  throw new OperatorError(message ?? `The server answers ${path} with ${status}. Is it a Grove server?`);
}

/**
 * Waits until it is over.
 *
 * @param path where to ask how far it is, and to give it up
 * @param signal gives it up, where the server takes that; it is over when nothing of it is left
 * @throws {OperatorError} when it failed, or nobody answers any more
 */
export async function follow<O extends Operation>(
  client: AdminClient,
  path: string,
  clock: Clock,
  show: (operation: O) => void,
  signal?: AbortSignal,
): Promise<O> {
  let isGivenUp = false;
  for (;;) {
    if (signal?.aborted === true && !isGivenUp) {
      isGivenUp = true;
      const { status } = await client.send('DELETE', path);
      // An earlier version of the server, or it was restarted.
      if (status !== 200)
        throw new OperatorError(`The server does not give it up and may go on with it: ask for GET ${path}`);
    }
    const operation = (await client.read(path)) as O;
    show(operation);
    if (operation.state === 'done') return operation;
    if (operation.state === 'failed') throw new OperatorError(operation.error?.message ?? 'It failed');
    await sleep(clock, POLL_MS);
  }
}
