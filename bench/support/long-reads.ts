import { Agent, request } from 'node:http';
import { nodesUrl } from './corpus.ts';
import type { GroveServer } from './grove-server.ts';

/** A read of every node. */
export const DEEP_READ = `${nodesUrl}/?deep=true`;

/** Connections that each send one read of every node after the other and discard the answers. */
export class LongReads {
  readonly #server: GroveServer;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #readers: readonly Promise<void>[];
  #isOver = false;
  /** Bytes of answers so far. */
  bytes = 0;

  constructor(server: GroveServer, readers: number) {
    this.#server = server;
    this.#readers = Array.from({ length: readers }, () => this.#read());
  }

  /** Ends the reads, also those that are being answered. @throws {Error} when one was not answered 200 */
  async end(): Promise<void> {
    this.#isOver = true;
    this.#agent.destroy();
    await Promise.all(this.#readers);
  }

  async #read(): Promise<void> {
    const { port, token } = this.#server;
    const headers = { authorization: `Bearer ${token}` };
    while (!this.#isOver) {
      await new Promise<void>((resolve, reject) => {
        const end = (error: Error): void => (this.#isOver ? resolve() : reject(error));
        const options = { host: '127.0.0.1', port, path: DEEP_READ, agent: this.#agent, headers };
        request(options, (response) => {
          if (response.statusCode !== 200)
            reject(new Error(`a deep read was answered ${response.statusCode}`));
          response.on('data', (chunk: Buffer) => (this.bytes += chunk.length));
          response.on('end', resolve).on('error', end);
        })
          .on('error', end)
          .end();
      });
    }
  }
}
