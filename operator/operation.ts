import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { AdminClient } from './admin-client.ts';
import { OperatorError } from './operator-error.ts';

/** Interval of progress requests, in milliseconds. */
const POLL_MS = 300;

/** The common fields of a backup, a restore and a check, in their wire format. */
export interface Operation {
  readonly state: 'running' | 'done' | 'failed';
  readonly bytes: number;
  readonly current: string | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/**
 * Starts a long operation.
 *
 * @throws {OperatorError} with the error message of the server
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
 * Waits until an operation has ended.
 *
 * @param path address of its progress; deleting it cancels the operation
 * @param signal cancels the operation if the server supports that; it has ended when its partial results are removed
 * @throws {OperatorError} when it failed, or the server no longer answers
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
      // The server has an earlier version, or was restarted.
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
