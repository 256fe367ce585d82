import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyFileDurably } from '#runtime/shard/file-copy.ts';

/** The length of a piece, so that there is a file of several and a bit. */
const PIECE = 4 * 1024 * 1024;

describe('a copy of a file', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'file-copy-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it.each([
    ['nothing', 0],
    ['less than a block', 777],
    ['one block', 4096],
    ['a piece', PIECE],
    ['several pieces and a few blocks', 3 * PIECE + 5 * 4096],
    ['several pieces and a part of a block', 2 * PIECE + 4097],
  ])('has every byte of its source, which has %s', async (_what, length) => {
    const [source, target] = [join(folder, 'source'), join(folder, 'target')];
    const content = randomBytes(length);
    writeFileSync(source, content);
    await copyFileDurably(source, target);
    expect(readFileSync(target).equals(content)).toBe(true);
    expect(readFileSync(source).equals(content)).toBe(true);
    expect(statSync(target).ino).not.toBe(statSync(source).ino);
  });

  it('is cancelled between two pieces, and leaves its source unchanged', async () => {
    const [source, target] = [join(folder, 'source'), join(folder, 'target')];
    const content = randomBytes(3 * PIECE);
    writeFileSync(source, content);
    const wanted = new AbortController();
    const copying = copyFileDurably(source, target, wanted.signal);
    wanted.abort();
    // Where blocks are shared it is done before anybody can give it up.
    await copying.catch((error: unknown) => expect(error).toMatchObject({ code: 'REQUEST_CANCELLED' }));
    expect(readFileSync(source).equals(content)).toBe(true);
    rmSync(target, { force: true });
    await copyFileDurably(source, target, new AbortController().signal);
    expect(readFileSync(target).equals(content)).toBe(true);
  });

  it('never replaces what is there', async () => {
    const [source, target] = [join(folder, 'source'), join(folder, 'target')];
    writeFileSync(source, Buffer.alloc(8192, 1));
    writeFileSync(target, 'mine');
    await expect(copyFileDurably(source, target)).rejects.toMatchObject({ code: 'EEXIST' });
    expect(readFileSync(target, 'utf8')).toBe('mine');
  });

  it('reports the error of an unreadable source', async () => {
    await expect(copyFileDurably(join(folder, 'none'), join(folder, 'target'))).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });
});
