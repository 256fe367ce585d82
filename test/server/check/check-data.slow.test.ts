import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { runProgram, startProgram } from '#test/support/run-program.ts';
import { until } from '#test/support/until.ts';

const CHECK = 'server/check/check-data.ts';

/** A check that is over, as a server answers it. */
const done = {
  id: 'c-1',
  state: 'done',
  bytes: 4096,
  current: null,
  error: null,
  actors: 3,
  actors_total: 3,
  damage: [],
  damage_total: 0,
  partitions_skipped: [] as readonly number[],
};

let server: Server | undefined;

afterEach(() => {
  server?.close();
  server?.closeAllConnections();
});

/** Stands for a server that makes one check. @param answer what it says of the check to a method @returns its address */
async function answering(answer: (method: string) => object): Promise<string> {
  const made = createServer(({ method = '' }, response) => {
    response.writeHead(method === 'POST' ? 202 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer(method)));
  });
  server = made;
  await new Promise<void>((resolve) => void made.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`;
}

const token = { GROVE_TOKEN: 'token' };

describe('check-data through a server', () => {
  it('names the partitions that the member did not verify [CHK-012]', async () => {
    const whole = await runProgram(CHECK, ['--url', await answering(() => done)], token);
    expect([whole.code, whole.stdout.split('\n').slice(-2)]).toEqual([
      0,
      ['Everything verifies: 3 shards (4.0 KiB)', ''],
    ]);
    server?.close();
    const url = await answering(() => ({ ...done, partitions_skipped: [1, 4] }));
    const skipped = await runProgram(CHECK, ['--url', url], token);
    expect([skipped.code, skipped.stderr]).toEqual([0, '']);
    expect(skipped.stdout).toContain('Everything that was read verifies: 3 shards');
    expect(skipped.stdout).toContain('Partitions not verified');
    expect(skipped.stdout).toContain('check: 1, 4.');
    const json = await runProgram(CHECK, ['--url', url, '--json'], token);
    expect(JSON.parse(json.stdout)).toMatchObject({ partitions_skipped: [1, 4] });
  });

  it('gives the check of the server up when it is interrupted, and waits until it is over [CHK-007]', async () => {
    const methods: string[] = [];
    const url = await answering((method) => {
      methods.push(method);
      if (!methods.includes('DELETE')) return { ...done, state: 'running', actors: 1 };
      const error = { code: 'REQUEST_CANCELLED', message: 'The check was given up' };
      return { ...done, state: 'failed', actors: 1, error };
    });
    const program = startProgram(CHECK, ['--url', url], token);
    await until(() => program.output().includes('1 of 3'), 'it shows how far the check is');
    program.child.kill('SIGINT');
    const { code, stderr, stdout } = await program.ended;
    expect([code, stderr]).toEqual([1, 'The check was given up\n']);
    expect(stdout).not.toContain('verif');
    expect(methods.filter((method) => method !== 'GET')).toEqual(['POST', 'DELETE']);
    expect(methods.at(-1)).toBe('GET');
  });
});
