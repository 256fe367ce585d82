import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startServer, type TestServer } from '#test/support/server.ts';
import { TenantMail, tenantOf } from '#test/support/tenant-mail.ts';
import { until } from '#test/support/until.ts';

const tenants = ['default', 'acme'] as const;
const another = 'fedcba9876543210'.repeat(4);

let mail: TenantMail;
let root: string;
/** A directory with a generated key, whose tenants have secrets. */
let whole: string;
let dataDir: string;

const at = (server: TestServer) => server.request.bind(server);
const open = (env: Readonly<Record<string, string>> = {}): Promise<TestServer> =>
  startServer({ dataDir, env, ...mail.serverOptions });
const secret = (name: string): string => join(dataDir, 'secrets', name);

beforeAll(async () => {
  mail = await TenantMail.start();
  root = mkdtempSync(join(tmpdir(), 'grove-rotation-'));
  whole = join(root, 'whole');
  dataDir = whole;
  const server = await open();
  const acme = await tenantOf(at(server), server.adminToken, 'acme');
  await mail.configure(at(server), server.adminToken);
  await mail.configure(at(server), acme, 'acme');
  for (const tenant of tenants) await mail.logIn(at(server), tenant);
  await server.close();
});

afterAll(async () => {
  rmSync(root, { recursive: true, force: true });
  await mail.stop();
});

beforeEach(() => {
  dataDir = mkdtempSync(join(root, 'case-'));
  cpSync(whole, dataDir, { recursive: true });
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

/** Waits until the status says that the previous key can be removed. */
async function rotated(server: TestServer): Promise<void> {
  const messages = async (): Promise<readonly string[]> => {
    const { json } = await server.admin('GET', '/api/management/cluster');
    const warnings = json.warnings as readonly { readonly code: string; readonly message: string }[];
    return warnings.filter(({ code }) => code === 'master-key-rotation').map(({ message }) => message);
  };
  await until(
    async () => (await messages()).some((text) => text.includes('can be removed')),
    'it is rotated',
  );
}

/** Why a start is refused. */
async function refusal(env: Readonly<Record<string, string>> = {}): Promise<string> {
  const server = await open(env).catch((error: Error) => error.message);
  if (typeof server === 'string') return server;
  await server.close();
  return 'started';
}

describe('a new master key', () => {
  it('takes over from a generated one, which then is needed for nothing [ADMIN-023]', async () => {
    const before = readFileSync(secret('master-key'), 'utf8');
    renameSync(secret('master-key'), secret('master-key-previous'));
    const during = await open();
    for (const tenant of tenants) await mail.logIn(at(during), tenant);
    await rotated(during);
    const told = during.logLines.filter(({ msg }) =>
      String(msg).includes('master-key-previous can be removed'),
    );
    expect(told).toMatchObject([{ level: 'info', encryptedAgain: 2 }]);
    expect(readFileSync(secret('master-key'), 'utf8')).not.toBe(before);
    await during.close();

    rmSync(secret('master-key-previous'));
    const after = await open();
    for (const tenant of tenants) await mail.logIn(at(after), tenant);
    const { json } = await after.admin('GET', '/api/management/cluster');
    expect(JSON.stringify(json.warnings)).not.toContain('master-key-rotation');
    await after.close();
    expect(await refusal({ SVC_MASTER_KEY: before.trim() })).toMatch(
      /SVC_MASTER_KEY is another key.*Nothing/s,
    );
  });

  it('may be in the variable, with the former one in another or in its file [ADMIN-023]', async () => {
    const before = readFileSync(secret('master-key'), 'utf8').trim();
    const during = await open({ SVC_MASTER_KEY: another, SVC_MASTER_KEY_PREVIOUS: before });
    await rotated(during);
    await during.close();
    rmSync(secret('master-key'));
    const after = await open({ SVC_MASTER_KEY: another });
    for (const tenant of tenants) await mail.logIn(at(after), tenant);
    await after.close();
    expect(existsSync(secret('master-key'))).toBe(false);
  });

  it('is refused when neither key is that of the directory, or both are the same [ADMIN-024]', async () => {
    const before = readFileSync(secret('master-key'), 'utf8').trim();
    const wrong = { SVC_MASTER_KEY: another, SVC_MASTER_KEY_PREVIOUS: '0123456789abcdef'.repeat(4) };
    rmSync(secret('master-key'));
    expect(await refusal(wrong)).toMatch(
      /^SVC_MASTER_KEY is another key than .*, and so is SVC_MASTER_KEY_PREVIOUS.*Nothing was changed/s,
    );
    expect(await refusal({ SVC_MASTER_KEY: another })).toMatch(/^SVC_MASTER_KEY is another key/);
    expect(await refusal({ SVC_MASTER_KEY: before, SVC_MASTER_KEY_PREVIOUS: before })).toMatch(
      /SVC_MASTER_KEY_PREVIOUS is the same key as SVC_MASTER_KEY/,
    );
    // It has harmed nothing.
    const server = await open({ SVC_MASTER_KEY: before });
    for (const tenant of tenants) await mail.logIn(at(server), tenant);
    await server.close();
  });

  it('gives way to the former one again, with both [ADMIN-023]', async () => {
    const before = readFileSync(secret('master-key'), 'utf8').trim();
    rmSync(secret('master-key'));
    const during = await open({ SVC_MASTER_KEY: another, SVC_MASTER_KEY_PREVIOUS: before });
    await rotated(during);
    await during.close();
    const back = await open({ SVC_MASTER_KEY: before, SVC_MASTER_KEY_PREVIOUS: another });
    await rotated(back);
    await back.close();
    const after = await open({ SVC_MASTER_KEY: before });
    for (const tenant of tenants) await mail.logIn(at(after), tenant);
    await after.close();
  });
});
