import type { ChildProcess } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { endChild, freePort, runPinned, spawnPinned } from './child.ts';
import { GENERATOR_CORE, SERVER_CORE } from './machine.ts';
import { requiredProgram, versionOf } from './programs.ts';
import type { Load } from './rounds.ts';

const READY_WAIT_MS = 10_000;
const READY_POLL_MS = 50;

/** Requests of a trial run, which determines the number of requests of a measurement. */
const TRIAL_REQUESTS = 10_000;

/** Number of different keys; nearly every requested key is free. */
const KEYS = 100_000_000;

/** Redis as Debian ships it, with an append-only file that is flushed before every answer, on the server core. */
export class RedisServer {
  readonly #child: ChildProcess;
  readonly #port: number;
  #perSecond = 0;

  private constructor(child: ChildProcess, port: number) {
    this.#child = child;
    this.#port = port;
  }

  /** Starts an empty server with its file below `parent`. */
  static async start(parent: string): Promise<RedisServer> {
    const folder = mkdtempSync(join(parent, 'redis-'));
    const port = await freePort();
    const child = spawnPinned(
      SERVER_CORE,
      requiredProgram('redis-server'),
      [
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
        ...['--appendonly', 'yes', '--appendfsync', 'always', '--daemonize', 'no'],
      ],
      { cwd: folder, stdio: 'ignore' },
    );
    const server = new RedisServer(child, port);
    await server.#ready();
    return server;
  }

  /** The version Redis reports. */
  static get version(): string {
    return versionOf(requiredProgram('redis-server'), '--version').replace(/ sha=.*/, '');
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Runs conditional sets with an expiry, the usual lock, with `clients` concurrent clients. */
  async setIfFree(clients: number, seconds: number): Promise<Load> {
    if (this.#perSecond === 0) this.#perSecond = (await this.#benchmark(clients, TRIAL_REQUESTS)).perSecond;
    return await this.#benchmark(clients, Math.ceil(this.#perSecond * seconds));
  }

  async stop(): Promise<void> {
    await endChild(this.#child, 'SIGTERM');
  }

  /** @throws {Error} when the output cannot be parsed */
  async #benchmark(clients: number, requests: number): Promise<Load> {
    const output = await runPinned(GENERATOR_CORE, requiredProgram('redis-benchmark', 'redis-tools'), [
      ...['-h', '127.0.0.1', '-p', String(this.#port), '-c', String(clients), '-n', String(requests)],
      ...['-r', String(KEYS), '--csv', 'SET', 'lock:__rand_int__', 'token', 'NX', 'PX', '30000'],
    ]);
    const figures = output.trim().split('\n').at(-1)?.split('","').slice(1).map(Number) ?? [];
    const [perSecond = Number.NaN, , , p50Ms = Number.NaN, , p99Ms = Number.NaN] = figures;
    if (!(perSecond > 0)) throw new Error(`redis-benchmark said:\n${output}`);
    return { requests, perSecond, p50Ms, p99Ms };
  }

  async #ready(): Promise<void> {
    const ping = ['-h', '127.0.0.1', '-p', String(this.#port), 'PING'];
    for (let waited = 0; ; waited += READY_POLL_MS) {
      const said = await runPinned(GENERATOR_CORE, requiredProgram('redis-cli', 'redis-tools'), ping).catch(
        () => '',
      );
      if (said.includes('PONG')) return;
      if (waited > READY_WAIT_MS || this.#child.exitCode !== null) throw new Error('Redis did not start');
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
  }
}
