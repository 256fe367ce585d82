import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { documentBlocks } from '#test/support/document-blocks.ts';
import { freePorts } from '#test/support/free-ports.ts';
import { HttpClient } from '#test/support/http-client.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { projectRoot } from '#test/tidy/source-file.ts';

/** Time a cluster has to start, in milliseconds: more than it gives its processes, so that it says what is missing. */
const START_MS_MAX = 200_000;

/** Ports of the servers of NATS from the first one on. */
const natsOffsets = [0, 1, 2, 2000, 2001, 2002, 4000, 4001, 4002];

const commands = documentBlocks('docs/operations.md').filter(({ language }) => language === 'bash');

/** `npm run cluster` as it stands in the page for operators, with ports and a folder of its own. */
class Cluster {
  readonly port: number;
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  output = '';

  constructor(port: number, natsPort: number, folder: string) {
    this.port = port;
    const command = `exec ${commands[0]?.text.trim()} -- --port ${port} --nats-port ${natsPort} --data '${folder}'`;
    // As a terminal does it: Ctrl-C goes to npm, the shell and the program alike.
    this.#child = spawn('bash', ['-c', command], { cwd: projectRoot, detached: true, env: environment() });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    this.ended = new Promise((resolve) => this.#child.once('close', resolve));
  }

  async ready(): Promise<void> {
    await Promise.race([
      vi.waitFor(() => expect(this.output).toContain('Stop it:'), { timeout: START_MS_MAX, interval: 200 }),
      this.ended.then((code) => {
        throw new Error(`it ended with ${code}:\n${this.output}`);
      }),
    ]);
  }

  /** Process ids by name, as they were printed. */
  get pids(): Map<string, number> {
    const rows = this.output.matchAll(/^ {4}(\S+) +\S+ +process (\d+)$/gm);
    return new Map([...rows].map(([, name, pid]) => [name as string, Number(pid)]));
  }

  get password(): string | undefined {
    return /^ {4}password {2}(\S+)$/m.exec(this.output)?.[1];
  }

  /** Ends it at once; on Linux its processes end with it. */
  kill(): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null)
      process.kill(-(this.#child.pid as number), 'SIGKILL');
  }

  interrupt(): Promise<number | null> {
    process.kill(-(this.#child.pid as number), 'SIGINT');
    return this.ended;
  }
}

/** That of somebody who has just opened a terminal. */
function environment(): NodeJS.ProcessEnv {
  const own = /^(SVC_|JWT_|GROVE_|PORT$|VITEST|NODE_)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('npm run cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'grove-local-cluster-'));
  let port: number;
  let natsPort: number;
  let cluster: Cluster;
  let client: HttpClient;
  let password: string;
  let token: string;

  beforeAll(async () => {
    requiredProgram('curl');
    requiredProgram('haproxy');
    port = await freePorts([0, 1, 2, 3]);
    do natsPort = await freePorts(natsOffsets);
    while (natsOffsets.some((offset) => Math.abs(natsPort + offset - port) < 4));
    cluster = new Cluster(port, natsPort, folder);
    await cluster.ready();
    client = new HttpClient(port);
    password = cluster.password as string;
  }, START_MS_MAX);

  afterAll(async () => {
    client?.close();
    cluster?.kill();
    for (const pid of cluster?.pids.values() ?? []) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  async function logIn(): Promise<string> {
    const body = { username: 'admin', password };
    const login = await client.request('POST', '/api/svc/sys/default/auth', { body });
    expect(login.status).toBe(200);
    return login.json.token as string;
  }

  it('serves through the load balancer, with the password it printed', async () => {
    token = await logIn();
    const made = await client.request('POST', '/api/repositories', { token, body: { repo_id: 'kept' } });
    expect(made.status).toBe(201);
  });

  it('reports members, partitions and owners to administrators only [CLU-007]', async () => {
    const { json, status } = await client.request('GET', '/api/management/cluster', { token });
    expect(status).toBe(200);
    expect(json.members.map(({ id, state }: { id: string; state: string }) => [id, state])).toEqual([
      ['member-1', 'ready'],
      ['member-2', 'ready'],
      ['member-3', 'ready'],
    ]);
    expect(json.partitions).toHaveLength(32);
    for (const { followers, owner, state } of json.partitions) {
      expect([state, followers.length]).toEqual(['owned', 2]);
      expect(owner).toMatch(/^member-[123]$/);
      for (const { records_behind } of followers) expect(records_behind).toBeGreaterThanOrEqual(0);
    }
    expect(json.nats_servers).toHaveLength(3);
    const foreign = { username: 'boss', password: 'Another-Horse-7-Battery', must_change_password: false };
    await client.request('POST', '/api/management/registry/tenants', {
      token,
      body: { tenant_id: 'other', admin: foreign },
    });
    const login = await client.request('POST', '/api/svc/sys/other/auth', { body: foreign });
    const refused = await client.request('GET', '/api/management/cluster', { token: login.json.token });
    expect([refused.status, refused.json.code]).toEqual([403, 'FORBIDDEN']);
  });

  it('takes every command of the page for operators', async () => {
    // A partition that is just being handed over has no owner, and with an alarm the status ends with 1: not before the
    // members that started last have their share.
    const shares = async (): Promise<boolean> => {
      const { json } = await client.request('GET', '/api/management/cluster', { token });
      const owners = (json.partitions as { owner: string | null }[]).map(({ owner }) => owner);
      const share = Math.floor(owners.length / json.members.length);
      return json.members.every(
        ({ id }: { id: string }) => owners.filter((each) => each === id).length >= share,
      );
    };
    await expect.poll(shares, { timeout: 30_000 }).toBe(true);
    const script = commands
      .slice(1)
      .map(({ text }) => text)
      .join('\n')
      .replaceAll('http://127.0.0.1:8080', `http://127.0.0.1:${port}`)
      .replaceAll('http://127.0.0.1:8081', `http://127.0.0.1:${port + 1}`)
      .replaceAll('data/cluster', folder)
      // A function, because '$&' in a text that replaces would not stand for itself.
      .replaceAll("GROVE_PASSWORD='…'", () => `GROVE_PASSWORD='${password}'`);
    const run = spawnSync('bash', ['-eu', '-o', 'pipefail', '-c', script], {
      cwd: projectRoot,
      encoding: 'utf8',
      // The lost password is set to what it is: other commands log in with it.
      env: { ...environment(), GROVE_NEW_PASSWORD: password },
      timeout: 60_000,
    });
    expect([run.status, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toMatch(/^ok$/m);
    expect(run.stdout).toMatch(/^\{"state":"ready".*"mode":"cluster"/m);
    expect(run.stdout).toMatch(/member-3 (\(asked\))? *ready/);
    expect(run.stdout).toMatch(/^SVC_MASTER_KEY=[0-9a-f]{64}$/m);
    expect(run.stdout).toContain('The password of admin in tenant default was changed.');
    // Nobody did what its user of NATS may not.
    for (const name of ['nats-1', 'nats-2', 'nats-3'])
      expect(readFileSync(join(folder, 'logs', `${name}.log`), 'utf8')).not.toContain('Violation');
    // One of the commands reset the password, which ends earlier tokens.
    token = await logIn();
  });

  it('reports a member that was killed, continues without it, and starts it again', async () => {
    process.kill(cluster.pids.get('member-2') as number, 'SIGKILL');
    await expect.poll(() => cluster.output).toContain('member-2 was ended by SIGKILL.');
    const read = () => client.request('GET', '/api/repositories/kept', { token });
    await expect.poll(async () => (await read()).status, { timeout: 30_000 }).toBe(200);
    await expect.poll(() => cluster.output, { timeout: 60_000 }).toContain('member-2 is ready again');
  });

  it('stops everything on Ctrl-C, and starts again with what it stored', async () => {
    const pids = [
      ...cluster.pids.values(),
      Number(/ready again \(process (\d+)\)/.exec(cluster.output)?.[1]),
    ];
    expect(await cluster.interrupt()).toBe(0);
    const said = cluster.output.slice(cluster.output.indexOf('Stopping in order'));
    expect(said).toMatch(/the load balancer.*the members.*the NATS servers.*Stopped\./s);
    expect(pids.filter(isAlive)).toEqual([]);
    cluster = new Cluster(port, natsPort, folder);
    await cluster.ready();
    expect(cluster.password).toBeUndefined();
    const read = () => client.request('GET', '/api/repositories/kept', { token });
    await expect.poll(async () => (await read()).status, { timeout: 30_000 }).toBe(200);
    expect(await cluster.interrupt()).toBe(0);
  });

  it('reports an obstacle: another cluster in its folder, a port in use, a wrong option', () => {
    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, [join(projectRoot, 'operator/local-cluster/main.ts'), ...args], {
        encoding: 'utf8',
        env: environment(),
      });
    const wrong = run('--port', 'http');
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining("not 'http'")]);
    const help = run('--help');
    expect([help.status, help.stdout]).toEqual([0, expect.stringContaining('--nats-port')]);
    const clash = run('--data', folder, '--port', '14000', '--nats-port', '10000');
    expect([clash.status, clash.stderr]).toEqual([2, expect.stringContaining('would both have port')]);
  });
});
