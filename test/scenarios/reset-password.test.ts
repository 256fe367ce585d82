import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isOwnAddress } from '#protocols/rest/access/this-machine.ts';
import { LOCAL_ACCESS_FILE_NAME } from '#runtime/embedded/local-access.ts';
import { type ProgramOutcome, runProgram, startProgram } from '#test/support/run-program.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const path = '/api/svc/sys/default/auth/reset-password';
const given = 'Given-Horse-9-Battery';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
});

afterAll(() => server.close());

/** The data directory of a member: of the only one, or in a cluster of the first. */
function home(): string {
  const first = join(server.dataDir, 'm1');
  return existsSync(first) ? first : server.dataDir;
}

const key = (): string => readFileSync(join(home(), LOCAL_ACCESS_FILE_NAME), 'utf8').trim();

/** As the person at the machine runs it. */
function reset(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ProgramOutcome> {
  return runProgram('operator/reset-password.ts', args, { SVC_DATA_DIR: home(), ...env });
}

const logIn = (password: string) =>
  server.request('POST', '/api/svc/sys/default/auth', { body: { username: 'admin', password } });

/** Each member of a cluster has its own key, and requests here go to one after the other. */
async function asked(token: string | undefined, body: object, headers: Record<string, string> = {}) {
  const address = readFileSync(join(home(), 'lock'), 'utf8').split('\n')[1] as string;
  const answer = await fetch(address + path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify(body),
  });
  return [answer.status, ((await answer.json()) as { readonly code: string }).code];
}

describe('a password that was lost', () => {
  it('is reset by a user that may read the data directory, while the server runs', async () => {
    const { adminToken } = server;
    // Many mistakes with the lost one: nobody waits for them afterwards.
    for (let mistakes = 0; mistakes < 5; mistakes += 1) await logIn('Wrong-Horse-9-Battery');
    const { code, stderr, stdout } = await reset();
    expect([code, stderr]).toEqual([0, '']);
    const password = /^ {2}password {2}(\S{16})$/m.exec(stdout)?.[1] as string;
    const again = await logIn(password);
    expect([again.status, again.json.must_change_password]).toEqual([200, true]);
    expect((await logIn(ADMIN_PASSWORD)).status).toBe(401);
    // A profile wants a token that is newer than the password.
    expect((await server.request('GET', '/api/svc/me', { token: adminToken })).status).toBe(401);
    expect(server.logLines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        account: 'default/admin',
        msg: expect.stringContaining('password reset'),
      }),
    );
    expect(JSON.stringify(server.logLines)).not.toContain(password);
  });

  it('is set to one that is given, which need not be changed', async () => {
    const { code, stdout } = await reset([], { GROVE_NEW_PASSWORD: given });
    expect([code, stdout]).toEqual([0, 'The password of admin in tenant default was changed.\n']);
    const again = await logIn(given);
    expect([again.status, again.json.must_change_password]).toEqual([200, false]);
  });

  it('is not reset with invalid options, and the reason is printed', async () => {
    const outcomes = await Promise.all([
      reset([], { GROVE_NEW_PASSWORD: 'weak' }),
      reset(['--user', 'nobody']),
      reset(['--tenant', 'no-such']),
      reset(['--tenant', 'No Name']),
      reset(['--data-dir', '/nowhere']),
      reset(['--unknown']),
    ]);
    expect(outcomes.map(({ code }) => code)).toEqual([1, 1, 1, 1, 2, 2]);
    expect(outcomes.map(({ stderr }) => stderr)).toEqual([
      expect.stringMatching(/^The password .*12/),
      "Tenant 'default' has no administrator 'nobody'\n",
      "Tenant 'no-such' has no administrator 'admin'\n",
      expect.stringMatching(/tenant/i),
      expect.stringContaining('There is no directory /nowhere'),
      expect.stringContaining('npm run reset-password [-- option'),
    ]);
    expect((await logIn(given)).status).toBe(200);
  });

  it('is reported as changed when it could not be printed, because it is unknown then', async () => {
    const { child, ended } = startProgram('operator/reset-password.ts', [], { SVC_DATA_DIR: home() });
    child.stdout?.destroy();
    const { code, stderr } = await ended;
    expect([code, stderr]).toEqual([
      1,
      'The password was changed, but could not be shown (EPIPE). Run this again where its output can be read.\n',
    ]);
    expect((await logIn(given)).status).toBe(401);
    expect((await reset([], { GROVE_NEW_PASSWORD: given })).code).toBe(0);
  });

  it('is reset only with read access to the data directory: other users get that error, not that no server runs', async () => {
    const closed = mkdtempSync(join(tmpdir(), 'grove-closed-'));
    chmodSync(closed, 0o000);
    // Root may read everything.
    const asNobody = 'data:text/javascript,process.getuid() === 0 %26%26 process.setuid(65534)';
    try {
      const nodeArgs = ['--import', asNobody];
      const { code, stderr } = await runProgram(
        'operator/reset-password.ts',
        ['--data-dir', closed],
        {},
        nodeArgs,
      );
      const told = `${closed} cannot be read (EACCES). Run this as the user of the server, or as root (sudo).\n`;
      expect([code, stderr]).toEqual([2, told]);
    } finally {
      rmSync(closed, { recursive: true });
    }
  });

  it('requires a running server: for a stopped one it prints the remedy', async () => {
    const empty = mkdtempSync(join(tmpdir(), 'grove-no-server-'));
    try {
      const { code, stderr } = await reset(['--data-dir', empty]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(/^No server runs on .* Start it, then/)]);
    } finally {
      rmSync(empty, { recursive: true });
    }
  });
});

describe('the key in the data directory', () => {
  const body = { username: 'admin', new_password: 'Stolen-Horse-9-Battery' };

  it('is for its user and root alone', () => {
    expect(statSync(join(home(), LOCAL_ACCESS_FILE_NAME)).mode & 0o777).toBe(0o600);
    expect(key()).toMatch(/^[0-9a-f]{64}$/);
  });

  it('is required: a request without it, or with another token, is refused', async () => {
    const login = (await logIn(given)).json.token as string;
    for (const token of [undefined, login, `${key()}0`, key().slice(1), '0'.repeat(64), 'x'])
      expect(await asked(token, body)).toEqual([401, 'UNAUTHORIZED']);
    expect((await logIn(given)).status).toBe(200);
  });

  it('is refused through a proxy', async () => {
    for (const headers of [
      { 'x-forwarded-for': '127.0.0.1' },
      { forwarded: 'for=127.0.0.1' },
      { via: '1.1 proxy' },
    ])
      expect(await asked(key(), body, headers)).toEqual([403, 'FORBIDDEN']);
    expect((await logIn(given)).status).toBe(200);
  });

  it('opens nothing else', async () => {
    for (const each of ['/api/repositories', '/api/svc/me', '/metrics', '/api/management/cluster'])
      expect([each, (await server.request('GET', each, { token: key() })).status]).toEqual([each, 401]);
  });

  it('is another one after a restart, and is gone when the server has stopped', async () => {
    const [before, folder] = [key(), home()];
    await server.restart();
    const after = key();
    expect(after).not.toBe(before);
    expect(await asked(before, body)).toEqual([401, 'UNAUTHORIZED']);
    await server.close();
    expect(existsSync(join(folder, LOCAL_ACCESS_FILE_NAME))).toBe(false);
    server = await startServer();
  });
});

describe('an address', () => {
  it('is of this machine when one of its interfaces has it', () => {
    const own = Object.values(networkInterfaces()).flatMap(
      (each) => each?.map(({ address }) => address) ?? [],
    );
    for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', ...own])
      expect([address, isOwnAddress(address)]).toEqual([address, true]);
    for (const address of ['192.0.2.7', '2001:db8::7', '::ffff:192.0.2.7', ''])
      expect([address, isOwnAddress(address)]).toEqual([address, false]);
  });
});
