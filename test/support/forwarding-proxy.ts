import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A proxy on this machine that says for whom it asks, as load balancers do. */
export class ForwardingProxy {
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** @param target address of the server behind it */
  static async to(target: string): Promise<ForwardingProxy> {
    const server = createServer((asked, answer) => {
      const headers = { ...asked.headers, 'x-forwarded-for': '192.0.2.7' };
      const { method } = asked;
      const forwarded = request(`${target}${asked.url}`, {
        headers,
        ...(method === undefined ? {} : { method }),
      });
      forwarded.on('response', (given) => {
        answer.writeHead(given.statusCode as number, given.headers);
        given.pipe(answer);
      });
      forwarded.on('error', () => answer.destroy());
      asked.pipe(forwarded);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new ForwardingProxy(server);
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }
}
