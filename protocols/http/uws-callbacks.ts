import type { HttpRequest as UwsRequest, HttpResponse as UwsResponse, TemplatedApp } from 'uWebSockets.js';

/** Told of what was thrown in a callback; must not throw. */
export type CallbackFault = (error: unknown) => void;

/**
 * What is thrown out of a function that uWebSockets.js called ends the process. So every function that is given to it
 * goes through one of these: the connection of the request is closed instead, and the error is told.
 *
 * Functions given to `cork` are called before it returns, and what they throw is thrown by it.
 *
 * @param onFault told of what was thrown, once per call
 * @see `test/tidy/code-rules.ts`: nothing else registers a function with the library
 */
export class UwsCallbacks {
  readonly #onFault: CallbackFault;

  constructor(onFault: CallbackFault) {
    this.#onFault = onFault;
  }

  /** @param call what the library asks for. @returns what it returned, or `otherwise` when it threw */
  guard<Result>(response: UwsResponse, call: () => Result, otherwise: Result): Result {
    try {
      return call();
    } catch (error) {
      this.#onFault(error);
      close(response);
      return otherwise;
    }
  }

  /**
   * @param onRequest called with every request
   * @param onConnection called with 1 for every connection that has come, with -1 for every one that is gone
   */
  register(
    app: TemplatedApp,
    onRequest: (response: UwsResponse, request: UwsRequest) => void,
    onConnection: (response: UwsResponse, change: number) => void,
  ): TemplatedApp {
    return app
      .any('/*', (response, request) => this.guard(response, () => onRequest(response, request), undefined))
      .filter((response, change) => this.guard(response, () => onConnection(response, change), undefined));
  }

  onAborted(response: UwsResponse, call: () => void): void {
    response.onAborted(() => this.guard(response, call, undefined));
  }

  onData(response: UwsResponse, call: (chunk: ArrayBuffer, isLast: boolean) => void): void {
    response.onData((chunk, isLast) => this.guard(response, () => call(chunk, isLast), undefined));
  }

  /** @param call says whether the peer took everything */
  onWritable(response: UwsResponse, call: (offset: number) => boolean): void {
    // Nothing more is written to a connection that is closed.
    response.onWritable((offset) => this.guard(response, () => call(offset), true));
  }
}

function close(response: UwsResponse): void {
  try {
    response.close();
  } catch {
    // The answer was over already, or the peer has gone: the library lets nobody touch the response then.
  }
}
