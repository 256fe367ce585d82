import { mkdtemp, readdir, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { numberedEntry } from '#test/support/log-entries.ts';
import { openJournal } from '../journal/journal-harness.ts';

describe('a journal on a disk', () => {
  let parent: string;

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'grove-cut-'));
  });

  afterEach(async () => {
    await rm(parent, { recursive: true });
  });

  it('notices its newest file cut at any moment beside six writers', async () => {
    for (let round = 0; round < 20; round += 1) {
      const folder = join(parent, String(round));
      const { journal } = await openJournal(realFileSystem, { folder, durability: 'relaxed' });
      let written = 0;
      let isEnough = (): void => {};
      const enough = new Promise<void>((resolve) => (isEnough = resolve));
      const writers = ['a', 'b', 'c', 'd', 'e', 'f'].map(async (actor) => {
        // Ends with the first write that is refused; bounded, should none be.
        for (let number = 0; number < 2_000 && journal.trouble === undefined; number += 1) {
          await journal.append(numberedEntry(actor, number, 200)).catch(() => undefined);
          written += 1;
          if (written === 20 + round) isEnough();
        }
      });
      await enough;
      const [name] = await readdir(folder);
      await truncate(join(folder, name as string), 300);
      await Promise.all(writers);
      expect(String(journal.trouble?.cause), `round ${round}`).toMatch(/ was cut /);
      await journal.close().catch(() => undefined);
    }
  });
});
