import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { BackupKey } from '#runtime/backup/backup-key.ts';
import { type BackupManifest, decodeManifest, encodeManifest, shardPath } from '#runtime/backup/manifest.ts';

const manifest: BackupManifest = {
  version: '1.2.3',
  shardFormat: 1,
  startedAt: '2026-11-21T00:00:00.000Z',
  finishedAt: '2026-11-21T00:00:01.000Z',
  scope: 'everything',
  tenants: ['default'],
  repositories: [{ tenant: 'default', name: 'blog', uid: '0123456789' }],
  actors: [
    { actor: 'default/tenant', file: shardPath(1), bytes: 8192, sha256: 'ab', sequence: 12, clock: '17-0' },
  ],
};

const key = new BackupKey(Buffer.alloc(32, 1));

it('is read as it was written', () => {
  expect(decodeManifest(encodeManifest(manifest, key), 'b', key)).toMatchObject({ manifest, origin: 'own' });
});

it('is refused with any byte of it changed', () => {
  const text = encodeManifest(manifest, key);
  // White space between the values says nothing.
  const body = JSON.stringify(JSON.parse(text));
  expect(decodeManifest(body, 'b', key)).toMatchObject({ manifest });
  for (let at = 0; at < body.length; at += 1) {
    const changed = `${body.slice(0, at)}${body[at] === '7' ? '8' : '7'}${body.slice(at + 1)}`;
    expect(() => decodeManifest(changed, 'b', key)).toThrow(/^Backup 'b' cannot be used: /);
  }
});

/** A manifest whose checksum was computed anew, as anybody can. */
function forged(text: string, change: (fields: Record<string, unknown>) => void): string {
  const { sha256: _, ...fields } = JSON.parse(text) as Record<string, unknown>;
  change(fields);
  const sha256 = createHash('sha256').update(JSON.stringify(fields)).digest('hex');
  return JSON.stringify({ ...fields, sha256 });
}

it('is refused when it was altered and names the key of this server, even with a valid checksum [BAK-022]', () => {
  const text = encodeManifest(manifest, key);
  const altered = forged(text, (fields) => {
    fields.version = '9.9.9';
  });
  expect(() => decodeManifest(altered, 'b', key)).toThrow('it was altered');
  const cut = forged(text, (fields) => {
    fields.signature = { key: key.name, hmac: 'ab' };
  });
  expect(() => decodeManifest(cut, 'b', key)).toThrow('it was altered');
});

it('is own when the previous key signed it, and altered when it only names that one [BAK-028]', () => {
  const [before, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const rotated = new BackupKey(other, before);
  const text = encodeManifest(manifest, key);
  expect(decodeManifest(text, 'b', rotated).origin).toBe('own');
  const altered = forged(text, (fields) => {
    fields.version = '9.9.9';
  });
  expect(() => decodeManifest(altered, 'b', rotated)).toThrow('it was altered');
  // New ones are of the present key.
  const fresh = encodeManifest(manifest, rotated);
  expect(decodeManifest(fresh, 'b', key).origin).toBe('foreign');
  expect(decodeManifest(fresh, 'b', new BackupKey(other)).origin).toBe('own');
});

it('is foreign with another key or none, and unsigned without a signature [BAK-022]', () => {
  const text = encodeManifest(manifest, key);
  const other = new BackupKey(Buffer.alloc(32, 2));
  expect(other.name).not.toBe(key.name);
  expect(decodeManifest(text, 'b', other).origin).toBe('foreign');
  expect(decodeManifest(text, 'b', undefined).origin).toBe('foreign');
  const unsigned = forged(text, (fields) => {
    delete fields.signature;
    fields.version = '9.9.9';
  });
  expect(decodeManifest(unsigned, 'b', key)).toMatchObject({
    origin: 'unsigned',
    manifest: { version: '9.9.9' },
  });
  const odd = forged(text, (fields) => {
    fields.signature = 'none';
  });
  expect(decodeManifest(odd, 'b', key).origin).toBe('foreign');
});

it('names nothing outside of the backup and of the data directory', () => {
  const actor = manifest.actors[0] as BackupManifest['actors'][0];
  const refused = (changed: Partial<BackupManifest>, what: string): void => {
    const text = encodeManifest({ ...manifest, ...changed }, key);
    expect(() => decodeManifest(text, 'b', key)).toThrow(what);
  };
  for (const file of ['../secrets/jwt-secret', '/etc/passwd', 'shards/../data.mdb', 'shards/1/data.mdb'])
    refused({ actors: [{ ...actor, file }] }, `names '${file}' as the file of default/tenant`);
  for (const tenant of ['../../escape', '..', 'a/b', ''])
    refused({ tenants: ['default', tenant] }, `names '${tenant}' as a tenant`);
  for (const id of ['../tenant', 'default/../tenant', '/default/tenant', 'default//tenant', 'tenant', 'a/.'])
    refused({ actors: [{ ...actor, actor: id }] }, `names '${id}' as an actor`);
  refused(
    { repositories: [{ tenant: 'default', name: '../x', uid: '01' }] },
    "names 'default/../x~01' as a repository",
  );
  refused(
    { repositories: [{ tenant: 'default', name: 'blog', uid: '../01' }] },
    "names 'default/blog~../01' as a repository",
  );
});
