import { expect, it } from 'vitest';
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

it('comes back as it was written', () => {
  expect(decodeManifest(encodeManifest(manifest), 'b')).toMatchObject(manifest);
});

it('is refused whichever byte of it is changed', () => {
  const text = encodeManifest(manifest);
  // White space between the values says nothing.
  const body = JSON.stringify(JSON.parse(text));
  expect(decodeManifest(body, 'b')).toMatchObject(manifest);
  for (let at = 0; at < body.length; at += 1) {
    const changed = `${body.slice(0, at)}${body[at] === '7' ? '8' : '7'}${body.slice(at + 1)}`;
    expect(() => decodeManifest(changed, 'b')).toThrow(/^Backup 'b' cannot be used: /);
  }
});

it('names no file outside of the backup', () => {
  const elsewhere = (file: string): string =>
    encodeManifest({
      ...manifest,
      actors: [{ ...(manifest.actors[0] as BackupManifest['actors'][0]), file }],
    });
  for (const file of ['../secrets/jwt-secret', '/etc/passwd', 'shards/../data.mdb', 'shards/1/data.mdb']) {
    expect(() => decodeManifest(elsewhere(file), 'b')).toThrow(
      `names '${file}' as the file of default/tenant`,
    );
  }
});
