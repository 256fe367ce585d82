import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { systemRandom } from '#runtime/base/random.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { OptionError } from '#runtime/config/option.ts';
import { findSecrets, loadSecrets, type Secrets, storedKeys } from '#runtime/config/secrets.ts';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'grove-secrets-'));
});

afterEach(() => rmSync(dataDir, { recursive: true }));

const load = (env: Readonly<Record<string, string>> = {}): Secrets =>
  loadSecrets(loadOptions({ ...env, SVC_DATA_DIR: dataDir }, () => undefined).server, systemRandom);

const pathOf = (name: string): string => join(dataDir, 'secrets', name);
const keys = ['jwt-secret', 'master-key'];
const values = (secrets: Secrets): [string, string] => [
  secrets.jwtSecret.reveal(),
  Buffer.from(secrets.masterKey.bytes()).toString('hex'),
];

describe('keys that are not configured', () => {
  it('are generated once and stay the same after every restart', () => {
    const first = values(load());
    expect(first[0]).toMatch(/^[0-9a-f]{96}$/);
    expect(first[1]).toMatch(/^[0-9a-f]{64}$/);
    expect(values(load())).toEqual(first);
  });

  it('are others in another data folder', () => {
    const first = values(load());
    rmSync(join(dataDir, 'secrets'), { recursive: true });
    const second = values(load());
    expect(second[0]).not.toBe(first[0]);
    expect(second[1]).not.toBe(first[1]);
  });

  it('can be read by their owner only, and leave no other file behind', () => {
    load();
    expect(readdirSync(join(dataDir, 'secrets')).sort()).toEqual(keys);
    expect(statSync(join(dataDir, 'secrets')).mode & 0o777).toBe(0o700);
    for (const name of keys) expect(statSync(pathOf(name)).mode & 0o777).toBe(0o600);
  });

  it('are those of the other process when two start at once', () => {
    const other = 'cd'.repeat(32);
    const racing = {
      // The other process finishes between our look and our creation: the moment the name is drawn.
      bytes(length: number): Uint8Array {
        if (length === 8 && !existsSync(pathOf('master-key'))) {
          writeFileSync(pathOf('master-key'), `${other}\n`, { mode: 0o600 });
        }
        return systemRandom.bytes(length).slice();
      },
    };
    const { server } = loadOptions(
      { SVC_DATA_DIR: dataDir, JWT_SECRET: 'a signing key of more than 32 bytes' },
      () => undefined,
    );
    expect(values(loadSecrets(server, racing))[1]).toBe(other);
    expect(readdirSync(join(dataDir, 'secrets'))).toEqual(['master-key']);
  });

  it.each(keys)('stop the start when %s can be read by others', (name) => {
    load();
    chmodSync(pathOf(name), 0o640);
    expect(() => load()).toThrow(OptionError);
    expect(() => load()).toThrow(`chmod 600 ${pathOf(name)}`);
  });

  it.each(keys)('stop the start when %s is damaged, and are not replaced', (name) => {
    load();
    const damaged = readFileSync(pathOf(name), 'utf8').slice(0, 40);
    writeFileSync(pathOf(name), damaged);
    expect(() => load()).toThrow(/is damaged; restore it from a backup/);
    expect(readFileSync(pathOf(name), 'utf8')).toBe(damaged);
  });
});

describe('keys of the environment', () => {
  const hex = '0123456789abcdef'.repeat(4);

  it('are used as they are, and nothing is stored', () => {
    const secrets = load({ JWT_SECRET: 'a signing key of forty characters ......', SVC_MASTER_KEY: hex });
    expect(values(secrets)).toEqual(['a signing key of forty characters ......', hex]);
    expect(existsSync(join(dataDir, 'secrets'))).toBe(false);
  });

  it.each([
    ['hex digits', hex],
    ['capital hex digits', hex.toUpperCase()],
    ['base64', Buffer.from(hex, 'hex').toString('base64')],
    ['base64 without padding', Buffer.from(hex, 'hex').toString('base64').replace('=', '')],
    ['URL-safe base64', Buffer.from(hex, 'hex').toString('base64url')],
  ])('take a master key as %s', (_, written) => {
    expect(values(load({ SVC_MASTER_KEY: written }))[1]).toBe(hex);
  });

  it('win over stored ones', () => {
    load();
    expect(values(load({ SVC_MASTER_KEY: hex }))[1]).toBe(hex);
  });
});

describe('the master key before the present one [ADMIN-024]', () => {
  const [one, two] = ['0123456789abcdef'.repeat(4), 'fedcba9876543210'.repeat(4)] as const;
  const previousOf = ({ previousMasterKey }: Secrets): string | undefined =>
    previousMasterKey && Buffer.from(previousMasterKey.bytes()).toString('hex');
  const find = (env: Readonly<Record<string, string>>) =>
    findSecrets(loadOptions({ ...env, SVC_DATA_DIR: dataDir }, () => undefined).server, systemRandom);

  it('is there only when it is given', () => {
    expect(previousOf(load())).toBeUndefined();
    expect(previousOf(load({ SVC_MASTER_KEY: one, SVC_MASTER_KEY_PREVIOUS: two }))).toBe(two);
    expect(existsSync(pathOf('master-key-previous'))).toBe(false);
  });

  it('is a stored key that was renamed, and a new key is generated in its place', () => {
    const [, before] = values(load());
    renameSync(pathOf('master-key'), pathOf('master-key-previous'));
    const secrets = load();
    expect(previousOf(secrets)).toBe(before);
    expect(values(secrets)[1]).not.toBe(before);
    expect(previousOf(load({ SVC_MASTER_KEY_PREVIOUS: two }))).toBe(two);
  });

  it.each([
    ['hex digits', one],
    ['base64', Buffer.from(one, 'hex').toString('base64')],
  ])('stops the start when it is the present key as %s', (_, written) => {
    const refused = () => load({ SVC_MASTER_KEY: one, SVC_MASTER_KEY_PREVIOUS: written });
    expect(refused).toThrow(OptionError);
    expect(refused).toThrow(/SVC_MASTER_KEY_PREVIOUS is the same key as SVC_MASTER_KEY: .*not been replaced/);
    expect(existsSync(join(dataDir, 'secrets'))).toBe(false);
  });

  it('stops the start when its file is the present key, is damaged, or can be read by others', () => {
    load();
    const path = pathOf('master-key-previous');
    copyFileSync(pathOf('master-key'), path);
    expect(() => load()).toThrow(`${path} is the same key as ${pathOf('master-key')}`);
    writeFileSync(path, 'half');
    expect(() => load()).toThrow(`${path} is damaged`);
    chmodSync(path, 0o644);
    expect(() => load()).toThrow(`chmod 600 ${path}`);
  });

  it('may be in the file of the present key, when that one is in the variable', () => {
    const [, stored] = values(load());
    expect(find({ SVC_MASTER_KEY: one }).otherMasterKey()).toBe(pathOf('master-key'));
    const rotated = { SVC_MASTER_KEY: one, SVC_MASTER_KEY_PREVIOUS: stored };
    expect(find(rotated).otherMasterKey()).toBeUndefined();
    expect(find({ ...rotated, SVC_MASTER_KEY_PREVIOUS: two }).otherMasterKey()).toBe(pathOf('master-key'));
  });

  it('is missed by a check of the folder as long as the folder needs it', () => {
    const { masterKey } = load();
    const needed = { keyCheck: masterKey.checkValue, previousKeyCheck: 'ab'.repeat(8) };
    const problems = () =>
      storedKeys(dataDir, needed).map(({ name, problem }) => [name, problem ?? 'fine'] as const);
    expect(problems()).toEqual([
      ['jwt-secret', 'fine'],
      ['master-key', 'fine'],
      ['master-key-previous', 'it is missing'],
    ]);
    writeFileSync(pathOf('master-key-previous'), two, { mode: 0o600 });
    expect(problems()[2]?.[1]).toMatch(/another key than the one that some of the data directory/);
    const { previousMasterKey } = load();
    const right = { ...needed, previousKeyCheck: previousMasterKey?.checkValue };
    expect(storedKeys(dataDir, right).every(({ problem }) => problem === undefined)).toBe(true);
    expect(storedKeys(dataDir, { ...right, previousKeyCheck: undefined })).toHaveLength(2);
  });
});

describe('loaded keys', () => {
  it('do not show themselves', () => {
    const secrets = load();
    const shown = [
      inspect(secrets, { depth: 9, showHidden: true }),
      JSON.stringify(secrets),
      `${secrets.masterKey}`,
    ];
    for (const value of values(secrets)) expect(shown.join()).not.toContain(value);
  });

  it('are copied when they are read, so that callers cannot change them', () => {
    const { masterKey } = load();
    const before = Buffer.from(masterKey.bytes()).toString('hex');
    masterKey.bytes().fill(0);
    expect(Buffer.from(masterKey.bytes()).toString('hex')).toBe(before);
  });
});
