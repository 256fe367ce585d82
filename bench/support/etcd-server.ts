import type { ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { endChild, freePort, spawnPinned } from './child.ts';
import { SERVER_CORE } from './machine.ts';
import { requiredProgram, versionOf } from './programs.ts';

const READY_WAIT_MS = 20_000;
const READY_POLL_MS = 50;

/** A single etcd as Debian ships it, with its own settings for flushing, on the server core. */
export class EtcdServer {
  readonly #child: ChildProcess;
  readonly port: number;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.port = port;
  }

  /** Starts an empty one below `parent`. */
  static async start(parent: string): Promise<EtcdServer> {
    const folder = mkdtempSync(join(parent, 'etcd-'));
    const port = await freePort();
    const peerPort = await freePort();
    const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
    const child = spawnPinned(
      SERVER_CORE,
      requiredProgram('etcd', 'etcd-server'),
      [
        ...['--data-dir', folder, '--listen-client-urls', client, '--advertise-client-urls', client],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
        ...['--initial-cluster', `default=${peer}`, '--logger', 'zap', '--log-level', 'error'],
      ],
      { cwd: folder, stdio: 'ignore' },
    );
    const server = new EtcdServer(child, port);
    await server.#ready();
    return server;
  }

  /** Its version, as it tells it. */
  static get version(): string {
    return versionOf(requiredProgram('etcd', 'etcd-server'), '--version');
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  async stop(): Promise<void> {
    await endChild(this.#child, 'SIGTERM');
  }

  async #ready(): Promise<void> {
    for (let waited = 0; ; waited += READY_POLL_MS) {
      const answer = await fetch(`http://127.0.0.1:${this.port}/health`).catch(() => undefined);
      if (answer?.ok === true && (await answer.text()).includes('true')) return;
      if (waited > READY_WAIT_MS || this.#child.exitCode !== null) throw new Error('etcd did not start');
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
  }
}
