import { connect, createServer, type Server, type Socket } from 'node:net';
import type { NatsCluster } from './nats-cluster.ts';

/** A way to a port on this machine that can be cut. */
export class TcpProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #state: 'open' | 'cut' | 'silent' = 'open';

  private constructor(targetPort: number) {
    this.#server = createServer((near) => {
      this.#keep(near);
      if (this.#state !== 'open') {
        if (this.#state === 'cut') near.destroy();
        return;
      }
      const far = connect(targetPort, '127.0.0.1');
      this.#keep(far);
      this.#pass(near, far);
      this.#pass(far, near);
    });
  }

  /** Listens on a free port. */
  static async to(targetPort: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(targetPort);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as { readonly port: number }).port;
  }

  /** Ends all connections, and every new one at once. */
  cut(): void {
    this.#state = 'cut';
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Passes nothing on any more; connections stay open, as with a cable that was pulled. */
  silence(): void {
    this.#state = 'silent';
  }

  /** Is as it was at first. What was swallowed stays lost, so connections that lived through it are ended. */
  restore(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#state = 'open';
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(from: Socket, to: Socket): void {
    from.on('data', (bytes) => {
      if (this.#state === 'open' && !to.destroyed) to.write(bytes);
    });
    from.once('close', () => to.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#sockets.delete(socket));
  }
}

/** The way of one member to all servers of NATS. They must not tell their own addresses: `no_advertise`. */
export class NatsLink {
  readonly #proxies: readonly TcpProxy[];

  private constructor(proxies: readonly TcpProxy[]) {
    this.#proxies = proxies;
  }

  static async to(nats: NatsCluster): Promise<NatsLink> {
    return new NatsLink(await Promise.all(nats.servers.map(({ port }) => TcpProxy.to(port))));
  }

  /** What the member connects to. */
  get urls(): readonly string[] {
    return this.#proxies.map(({ port }) => `nats://127.0.0.1:${port}`);
  }

  cut(): void {
    for (const proxy of this.#proxies) proxy.cut();
  }

  silence(): void {
    for (const proxy of this.#proxies) proxy.silence();
  }

  restore(): void {
    for (const proxy of this.#proxies) proxy.restore();
  }

  async close(): Promise<void> {
    await Promise.all(this.#proxies.map((proxy) => proxy.close()));
  }
}
