import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalCluster, StartStoppedSignal } from '#operator/local-cluster/local-cluster.ts';
import type { PlannedProcess, ProcessType } from '#operator/local-cluster/plan.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { freePorts } from '#test/support/free-ports.ts';

/** A real process with a real page, told by its environment how to behave; it writes down when it ends. */
const program = `
const { appendFileSync } = require('node:fs');
const { NAME, PORT, JOURNAL, ENDS_AT_ONCE, NEVER_READY } = process.env;
const note = (what) => appendFileSync(JOURNAL, NAME + ' ' + what + '\\n');
console.log('the first words of ' + NAME);
note('starts');
if (ENDS_AT_ONCE === 'yes') { console.error('no such luck'); process.exit(3); }
require('node:http').createServer((request, answer) => {
  if (request.url === '/end') process.exit(5);
  answer.statusCode = NEVER_READY === 'yes' ? 503 : 200;
  answer.end();
}).listen(Number(PORT), '127.0.0.1');
for (const signal of ['SIGTERM', 'SIGUSR1']) process.on(signal, () => { note('ends by ' + signal); process.exit(0); });
`;

let folder: string;
let told: string[];
let cluster: LocalCluster | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grove-local-'));
  writeFileSync(join(folder, 'program.cjs'), program);
  told = [];
});

afterEach(async () => {
  cluster?.kill();
  await expect.poll(() => cluster?.pids.size ?? 0).toBe(0);
  rmSync(folder, { recursive: true });
});

const journal = (): string[] => {
  const file = join(folder, 'journal');
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
};

let urls: ReadonlyMap<string, string>;

/** One of each type, unless a type behaves in some way of its own. */
async function make(behaviour: Partial<Record<ProcessType, Record<string, string>>> = {}, restarts = true) {
  const port = await freePorts([0, 1, 2]);
  const processes = (['nats', 'member', 'balancer'] as const).map((type, index): PlannedProcess => {
    const url = `http://127.0.0.1:${port + index}`;
    const env = {
      NAME: type,
      PORT: String(port + index),
      JOURNAL: join(folder, 'journal'),
      ...behaviour[type],
    };
    return { name: `${type}-1`, type, url, readyUrl: url, ports: [], env, folders: [] };
  });
  urls = new Map(processes.map(({ name, url }) => [name, url]));
  const command = `exec '${process.execPath}' program.cjs`;
  cluster = new LocalCluster({
    processes,
    commands: new Map(processes.map(({ type }) => [type, command])),
    folder,
    logFolder: folder,
    env: { PATH: process.env.PATH },
    prefix: [],
    restarts,
    clock: systemClock,
    tell: (line) => void told.push(line),
  });
  return cluster;
}

describe('a cluster on one machine', () => {
  it('starts type by type and stops in the opposite order', async () => {
    const made = await make();
    await made.start();
    expect([...made.pids.keys()]).toEqual(['nats-1', 'member-1', 'balancer-1']);
    await made.stop();
    expect(journal()).toEqual([
      ...['nats starts', 'member starts', 'balancer starts'],
      ...['balancer ends by SIGUSR1', 'member ends by SIGTERM', 'nats ends by SIGTERM'],
    ]);
    expect(made.pids.size).toBe(0);
    expect(readFileSync(join(folder, 'member-1.log'), 'utf8')).toContain('the first words of member');
  });

  it('ends its start with the reason when a process dies, and starts nothing after it', async () => {
    const made = await make({ member: { ENDS_AT_ONCE: 'yes' } });
    await expect(made.start()).rejects.toThrow(/member-1 ended with code 3\..*no such luck/s);
    await made.stop();
    expect(journal()).toEqual(['nats starts', 'member starts', 'nats ends by SIGTERM']);
  });

  it('can be stopped while it starts', async () => {
    const made = await make({ member: { NEVER_READY: 'yes' } });
    const started = made.start();
    await expect.poll(() => journal()).toContain('member starts');
    const stopped = made.stop();
    await expect(started).rejects.toThrow(StartStoppedSignal);
    await stopped;
    expect(made.pids.size).toBe(0);
  });

  it('reports a process that was killed, and starts it again', async () => {
    const made = await make();
    await made.start();
    const before = made.pids.get('member-1') as number;
    process.kill(before, 'SIGKILL');
    await expect.poll(() => told.join('\n'), { timeout: 15_000 }).toContain('member-1 is ready again');
    expect(told).toContain('member-1 was ended by SIGKILL.');
    expect(made.pids.get('member-1')).not.toBe(before);
    // What it wrote before is kept beside the log of its new life.
    expect(existsSync(join(folder, 'member-1.log.1'))).toBe(true);
  });

  it('leaves a process alone that died, where that is asked for', async () => {
    const made = await make({}, false);
    await made.start();
    await fetch(`${urls.get('member-1')}/end`).catch(() => undefined);
    await expect.poll(() => told.join('\n'), { timeout: 10_000 }).toContain('go on without member-1');
    expect(told.join('\n')).toMatch(/member-1 ended with code 5\..*the first words of member/s);
    expect(made.pids.has('member-1')).toBe(false);
  });
});
