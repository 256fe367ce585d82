import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '#runtime/base/random.ts';
import { Secret } from '#runtime/config/secret.ts';
import { findSecrets } from '#runtime/config/secrets.ts';
import { SIGNING_KEY_CHECK, SigningKeyRecord } from '#server/host/signing-key.ts';
import { startServer } from '#test/support/server.ts';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'signing-key-'));
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const keyFile = () => join(dataDir, 'secrets/jwt-secret');
const checkFile = () => join(dataDir, 'secrets', SIGNING_KEY_CHECK);
const key = (text: string) => new Secret(text.repeat(20));

/** A start with keys of the environment, or those of the folder. @returns its warnings */
function start({ given, previous }: { readonly given?: Secret; readonly previous?: Secret } = {}) {
  const secrets = findSecrets({ dataDir, jwtSecret: given, masterKey: undefined }, systemRandom);
  secrets.store();
  const record = new SigningKeyRecord({ dataDir, secrets, previous });
  const warned: string[] = [];
  record.store({ warn: (message) => void warned.push(message) });
  expect(record.findings.map(({ code, message }) => [code, message])).toEqual(
    warned.map((message) => ['signing-key-changed', message]),
  );
  return warned;
}

describe('a start', () => {
  it('says nothing of the first key, and of the same one again', () => {
    expect([start(), start(), start()]).toEqual([[], [], []]);
    const [check, secret] = [checkFile(), keyFile()].map((path) => readFileSync(path, 'utf8').trim());
    expect(check).toMatch(/^[0-9a-f]{16}$/);
    expect(secret).not.toContain(check);
    expect(statSync(checkFile()).mode & 0o777).toBe(0o600);
  });

  it('tells of a lost key, once', () => {
    start();
    rmSync(keyFile());
    const lost = expect.stringMatching(/jwt-secret was missing, and a new signing key.*put it back/);
    expect([start(), start()]).toEqual([[lost], []]);
  });

  it('tells of a lost key in a directory of an earlier version, which records none', () => {
    start();
    rmSync(checkFile());
    expect(start()).toEqual([]);
    for (const path of [checkFile(), keyFile()]) rmSync(path);
    expect(start()).toEqual([expect.stringContaining('was missing')]);
  });

  it('tells of a replaced key', () => {
    start();
    const other = readFileSync(keyFile(), 'utf8').trim().split('').reverse().join('');
    writeFileSync(keyFile(), `${other}\n`, { mode: 0o600 });
    expect(start()).toEqual([expect.stringMatching(/jwt-secret is another signing key/)]);
    expect(start({ given: key('ab') })).toEqual([
      expect.stringMatching(/^JWT_SECRET is another signing key/),
    ]);
  });

  it('takes a rotation as it is described without a word', () => {
    const [old, fresh] = [key('ab'), key('cd')];
    const steps = [
      { given: old },
      { given: old, previous: fresh },
      { given: fresh, previous: old },
      { given: fresh },
    ];
    expect(steps.map(start)).toEqual([[], [], [], []]);
  });

  it('goes on with a record that is none', () => {
    start();
    writeFileSync(checkFile(), '');
    expect(start()).toEqual([expect.stringContaining('is another signing key')]);
    rmSync(checkFile());
    expect(start()).toEqual([]);
  });
});

it('a member with a lost key serves, and has an alarm until its next start', async () => {
  const first = await startServer({ dataDir });
  const token = first.adminToken;
  await first.close();
  rmSync(keyFile());
  const second = await startServer({ dataDir });
  const warnings = async (server: typeof second) =>
    (await server.admin('GET', '/api/management/cluster')).json.warnings;
  expect(await warnings(second)).toMatchObject([{ code: 'signing-key-changed', severity: 'alarm' }]);
  expect(JSON.stringify(second.logLines)).toMatch(/jwt-secret was missing/);
  expect((await second.request('GET', '/api/svc/me', { token })).status).toBe(401);
  expect((await second.request('GET', '/ready')).status).toBe(200);
  await second.close();
  const third = await startServer({ dataDir });
  expect(await warnings(third)).toEqual([]);
  await third.close();
});
