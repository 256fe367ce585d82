import type { NatsConnection } from '@nats-io/transport-node';

/**
 * Tracks whether a connection is up, and reports when it is up again. While it is down, the client keeps published
 * messages and sends all of them later. This is right for a request whose caller waits, and wrong for a message that is
 * only valid now.
 */
export class LinkWatch {
  readonly #connection: NatsConnection;
  readonly #listeners = new Set<() => void>();
  #isUp = true;

  constructor(connection: NatsConnection) {
    this.#connection = connection;
    void this.#watch();
  }

  /** Whether a message published now is sent now. */
  get isUp(): boolean {
    return this.#isUp && !this.#connection.isClosed();
  }

  /**
   * Registers a listener for reconnections. Messages may have been missed while the connection was down.
   *
   * @returns a function that removes the listener
   */
  onReturn(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'disconnect' || type === 'close') this.#isUp = false;
      if (type !== 'reconnect') continue;
      this.#isUp = true;
      for (const listener of this.#listeners) listener();
    }
  }
}
