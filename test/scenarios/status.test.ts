import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ForwardingProxy } from '#test/support/forwarding-proxy.ts';
import { freePorts } from '#test/support/free-ports.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const program = join(import.meta.dirname, '../../operator/status.ts');

const operatorToken = 'an-operator-token-for-this-test';

let server: TestServer;
/** Through it nobody is on the machine of the member. */
let proxy: ForwardingProxy;

beforeAll(async () => {
  server = await startServer({ env: { SVC_MEMBER_ID: 'lonely', SVC_METRICS_TOKEN: operatorToken } });
  proxy = await ForwardingProxy.to(server.url);
});

afterAll(async () => {
  await proxy.close();
  await server.close();
});

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `npm run status` without npm. */
function status(env: Record<string, string>, ...args: readonly string[]): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, ...args],
      { env: { PATH: process.env.PATH, GROVE_URL: proxy.url, ...env } },
      (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    );
    child.stdin?.end();
  });
}

describe('npm run status', () => {
  it('shows a member that is well and ends with 0, without colours in a pipe', async () => {
    const { code, stderr, stdout } = await status({ GROVE_PASSWORD: ADMIN_PASSWORD });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain('Grove, a single member, durability local');
    expect(stdout).toMatch(/lonely \(asked\) +ready/);
    expect(stdout).toContain('Everything is well.');
    expect(stdout).not.toContain('\u001b');
  });

  it('requires neither a token nor a login on the machine of the member, and elsewhere the operator token', async () => {
    const outcomes = [
      await status({ GROVE_URL: server.url }),
      await status({ SVC_METRICS_TOKEN: operatorToken }),
    ];
    for (const { code, stdout } of outcomes)
      expect([code, stdout]).toEqual([0, expect.stringContaining('lonely')]);
  });

  it('shows problems first, and healthy partitions on request', async () => {
    const { stdout } = await status({ SVC_METRICS_TOKEN: operatorToken });
    expect(stdout.indexOf('Everything is well.')).toBeLessThan(stdout.indexOf('Members'));
    expect(stdout).toContain('1 of 1 have an owner');
    expect(stdout).not.toMatch(/nr +state/);
    const all = await status({ SVC_METRICS_TOKEN: operatorToken }, '--partitions');
    expect(all.stdout).toMatch(/nr +state +owner/);
    expect(all.stdout).toMatch(/0 +owned +lonely/);
  });

  it('takes a token, and prints the answer as JSON', async () => {
    const { code, stdout } = await status({ GROVE_TOKEN: server.adminToken }, '--json');
    const answer = await server.admin('GET', '/api/management/cluster');
    const stable = ({ members, ...rest }: Record<string, unknown>) => ({
      ...rest,
      members: (members as { id: string }[]).map(({ id }) => id),
    });
    expect([code, stable(JSON.parse(stdout))]).toEqual([0, stable(answer.json)]);
  });

  it('ends with 1 and the reason when no server, or another one, answers', async () => {
    const url = `http://127.0.0.1:${await freePorts([0])}`;
    const nobody = await status({ GROVE_PASSWORD: 'x' }, '--url', url);
    expect([nobody.code, nobody.stdout]).toEqual([1, '']);
    expect(nobody.stderr).toContain(`${url} does not answer (ECONNREFUSED)`);
    const expired = await status({ GROVE_TOKEN: 'no-token' });
    expect([expired.code, expired.stderr]).toEqual([1, expect.stringContaining('does not take this token')]);
  });

  it('ends with 2 when it cannot ask: a wrong password, none at all, an unknown option', async () => {
    const outcomes = await Promise.all([
      status({ GROVE_PASSWORD: 'Wrong-Horse-9-Battery' }),
      status({}),
      status({}, '--colour'),
      status({ GROVE_URL: 'localhost' }),
    ]);
    expect(outcomes.slice(0, 3).map(({ code }) => code)).toEqual([2, 2, 2]);
    expect(outcomes.map(({ stderr }) => stderr)).toEqual([
      expect.stringContaining('does not take this password for admin'),
      expect.stringContaining('GROVE_PASSWORD'),
      expect.stringContaining('npm run status [-- option'),
      expect.stringContaining('is no address of a server'),
    ]);
  });

  it('asks for the password at a terminal, does not show it, and colours its answer', async () => {
    const command = `'${process.execPath}' '${program}'`;
    const child = spawn(requiredProgram('script'), ['-qec', command, '/dev/null'], {
      env: { PATH: process.env.PATH, TERM: 'xterm', GROVE_URL: proxy.url },
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    await expect.poll(() => output, { timeout: 15_000 }).toContain('Password of admin: ');
    child.stdin.write(`${ADMIN_PASSWORD}\r`);
    expect(await ended).toBe(0);
    expect(output).toContain('\u001b[32mready\u001b[0m');
    expect(output).not.toContain(ADMIN_PASSWORD);
  });

  it('explains itself', async () => {
    const { code, stdout } = await status({}, '--help');
    expect([code, stdout]).toEqual([0, expect.stringContaining('--json')]);
  });
});
