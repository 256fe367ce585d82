import { expect, it } from 'vitest';
import { PositionFile } from '#cluster/ownership/position-file.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';

const FOLDER = '/partition';
const position = { identity: 'stream', sequence: 7, epoch: 2, chain: Buffer.alloc(16, 7) };

it('reads the position that was written, with its catalogue', async () => {
  const files = new FaultyFileSystem();
  await new PositionFile(files, FOLDER).write(position, 'listed', 3);
  const again = new PositionFile(files.crash('drop-unsynced'), FOLDER);
  expect(await again.read()).toEqual(position);
  expect([again.catalogue, again.actors]).toEqual(['listed', 3]);
});

it.each([
  ['of another format', { format: 2 }],
  ['without a sequence', { sequence: null }],
  ['without an epoch', { epoch: '2' }],
  ['without a chain', { chain: undefined }],
])('believes no position %s', async (_, change) => {
  const files = new FaultyFileSystem();
  await new PositionFile(files, FOLDER).write(position);
  const [path = ''] = files.paths();
  const stored = JSON.parse(files.content(path).toString());
  files.put(path, Buffer.from(JSON.stringify({ ...stored, ...change })));
  await expect(new PositionFile(files, FOLDER).read()).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
});
