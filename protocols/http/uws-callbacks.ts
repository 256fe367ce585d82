import type { HttpRequest as UwsRequest, HttpResponse as UwsResponse, TemplatedApp } from 'uWebSockets.js';

/** Called with an error thrown in a callback; must not throw. */
export type CallbackFault = (error: unknown) => void;

/**
 * Guards the callbacks of uWebSockets.js. An error thrown out of a callback ends the process. So every function given
 * to the library is wrapped here: the connection of the request is closed instead, and the error is reported.
 *
 * Functions given to `cork` run before it returns, and `cork` throws their errors.
 *
 * @param onFault called with the thrown error, once per call
 * @see `test/tidy/code-rules.ts`: no other file registers a function with the library
 */
export class UwsCallbacks {
  readonly #onFault: CallbackFault;

  constructor(onFault: CallbackFault) {
    this.#onFault = onFault;
  }

  /** @param call the library's callback. @returns its result, or `otherwise` when it threw */
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
   * @param onConnection called with 1 for every opened connection, with -1 for every closed one
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

  /** @param call returns whether the peer took everything */
  onWritable(response: UwsResponse, call: (offset: number) => boolean): void {
    // Nothing more is written to a closed connection.
    response.onWritable((offset) => this.guard(response, () => call(offset), true));
  }
}

function close(response: UwsResponse): void {
  try {
    response.close();
  } catch {
    // The response was over already, or the peer has gone: the library forbids any use of the response then.
  }
}
