import type { RootDatabase } from 'lmdb';

/** Status of a call that reports a visible commit: the thread still works. */
const VISIBLE = 1;

/** Status of a call that runs callbacks within the transaction: the thread waits for them. */
const CALLBACKS = 2;

/** The native environment behind a database of lmdb-js; its type declarations lack it. */
interface NativeEnvironment {
  startWriting(address: number, report: (status: number) => unknown): void;
}

/**
 * Knows when the thread in which lmdb-js writes has let go of an environment.
 *
 * lmdb-js settles a write as soon as the thread has marked it as committed. The thread then still looks at the
 * environment. Where that was closed in between, it reads freed memory, and the system ends the process (SIGSEGV). The
 * last call of the thread comes after that look, so whoever closes waits for it.
 */
export class WriterThread {
  #finished: Promise<void> = Promise.resolve();

  /** @param database one that lmdb-js has just opened; nothing was written to it asynchronously */
  constructor(database: RootDatabase<Uint8Array, string>) {
    const { env } = database as unknown as { readonly env: NativeEnvironment };
    const { startWriting } = env;
    // The methods of the native class cannot be assigned.
    Object.defineProperty(env, 'startWriting', {
      value: (address: number, report: (status: number) => unknown): void => {
        const { promise, resolve } = Promise.withResolvers<void>();
        startWriting.call(env, address, (status) => {
          if (status !== VISIBLE && status !== CALLBACKS) resolve();
          return report(status);
        });
        this.#finished = promise;
      },
    });
  }

  /** Resolves when the thread has finished the newest write, whether that succeeded or not. It never rejects. */
  finished(): Promise<void> {
    return this.#finished;
  }
}
