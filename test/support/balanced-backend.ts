import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** Something like a member, behind a balancer: it says whether it is ready, and who it is. */
export class Backend {
  readonly name: string;
  readonly requests: IncomingMessage[] = [];
  isReady = true;
  /** Connections that brought a request that was no health check. */
  readonly #connections = new Set<unknown>();
  readonly #server: Server;
  readonly #upgraded: Duplex[] = [];
  /** Cuts the connection instead of answering. */
  cuts = false;

  constructor(name: string) {
    this.name = name;
    this.#server = createServer((request, response) => this.#answer(request, response));
    this.#server.on('upgrade', (request, socket) => {
      this.#upgraded.push(socket);
      // RFC 6455 section 1.3; the balancer holds both sides to it.
      const accept = createHash('sha1')
        .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64');
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      );
      socket.on('data', (bytes) => socket.write(`${this.name} heard ${bytes}`));
      socket.on('error', () => socket.destroy());
    });
  }

  get connections(): number {
    return this.#connections.size;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  async close(): Promise<void> {
    for (const socket of this.#upgraded) socket.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.url === '/ready' && request.headers.host === 'grove') {
      response.writeHead(this.isReady ? 200 : 503).end('{}');
      return;
    }
    this.#connections.add(request.socket);
    this.requests.push(request);
    request.resume();
    if (this.cuts) request.socket.destroy();
    else response.end(this.name);
  }
}
