import type { ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { endChild, freePort, spawnPinned } from './child.ts';
import { SERVER_CORE } from './machine.ts';
import { requiredProgram, versionOf } from './programs.ts';

const READY_WAIT_MS = 20_000;
const READY_POLL_MS = 50;

/** The used part of the status of a node. */
interface NodeStatus {
  readonly header: { readonly member_id: string };
  readonly leader: string;
}

/** One etcd node or a cluster of three, as Debian ships it, with its default flushing, on the server core. */
export class EtcdCluster {
  readonly #children: readonly ChildProcess[];
  readonly #ports: readonly number[];
  #leader = 0;

  private constructor(children: readonly ChildProcess[], ports: readonly number[]) {
    this.#children = children;
    this.#ports = ports;
  }

  /** Starts an empty cluster below `parent`. */
  static async start(parent: string, count: 1 | 3): Promise<EtcdCluster> {
    const folder = mkdtempSync(join(parent, 'etcd-'));
    const nodes: { readonly name: string; readonly port: number; readonly peer: string }[] = [];
    for (let index = 0; index < count; index++)
      nodes.push({
        name: `etcd-${index + 1}`,
        port: await freePort(),
        peer: `http://127.0.0.1:${await freePort()}`,
      });
    const everybody = nodes.map(({ name, peer }) => `${name}=${peer}`).join(',');
    const children = nodes.map(({ name, peer, port }) => {
      const store = join(folder, name);
      mkdirSync(store, { mode: 0o700 });
      const client = `http://127.0.0.1:${port}`;
      return spawnPinned(
        SERVER_CORE,
        requiredProgram('etcd', 'etcd-server'),
        [
          ...['--name', name, '--data-dir', store],
          ...['--listen-client-urls', client, '--advertise-client-urls', client],
          ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
          ...['--initial-cluster', everybody, '--logger', 'zap', '--log-level', 'error'],
        ],
        { cwd: folder, stdio: 'ignore' },
      );
    });
    const cluster = new EtcdCluster(
      children,
      nodes.map(({ port }) => port),
    );
    await Promise.all(cluster.#ports.map((port) => cluster.#ready(port)));
    await cluster.#findLeader();
    return cluster;
  }

  /** The version etcd reports. */
  static get version(): string {
    return versionOf(requiredProgram('etcd', 'etcd-server'), '--version');
  }

  /** Client port of the leader. */
  get port(): number {
    return this.#ports[this.#leader] as number;
  }

  /** The process of the leader. */
  get leaderPid(): number {
    return this.#children[this.#leader]?.pid as number;
  }

  /** The processes of the followers. */
  get followerPids(): readonly number[] {
    return this.#children.filter((_, index) => index !== this.#leader).map(({ pid }) => pid as number);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#children.map((child) => endChild(child, 'SIGTERM')));
  }

  async #ready(port: number): Promise<void> {
    for (let waited = 0; ; waited += READY_POLL_MS) {
      const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
      if (answer?.ok === true && (await answer.text()).includes('true')) return;
      const isOver = this.#children.some(({ exitCode }) => exitCode !== null);
      if (waited > READY_WAIT_MS || isOver) throw new Error('etcd did not start');
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
  }

  /** @throws {Error} when no node reports that it is the leader */
  async #findLeader(): Promise<void> {
    const statuses = await Promise.all(
      this.#ports.map(async (port) => {
        const url = `http://127.0.0.1:${port}/v3/maintenance/status`;
        return (await (await fetch(url, { method: 'POST', body: '{}' })).json()) as NodeStatus;
      }),
    );
    this.#leader = statuses.findIndex(({ header, leader }) => leader === header.member_id);
    if (this.#leader < 0) throw new Error('etcd has no leader');
  }
}
