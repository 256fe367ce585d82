import type { NatsConnection } from '@nats-io/transport-node';

/**
 * Knows whether a connection is connected at present, and when it was again. The client keeps what is published
 * while it is not, and sends all of it later: right for a request somebody waits for, wrong for what is only true
 * now.
 */
export class LinkWatch {
  readonly #connection: NatsConnection;
  readonly #listeners = new Set<() => void>();
  #isUp = true;

  constructor(connection: NatsConnection) {
    this.#connection = connection;
    void this.#watch();
  }

  /** Whether something published now is sent now. */
  get isUp(): boolean {
    return this.#isUp && !this.#connection.isClosed();
  }

  /**
   * Calls back when it is connected again: messages may have been missed meanwhile.
   *
   * @returns ends it
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
