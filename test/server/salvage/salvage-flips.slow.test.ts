import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  actorOf,
  branchFile,
  contentOf,
  copyOf,
  discard,
  makeDirectory,
  salvage,
} from '#test/support/damaged-directory.ts';

describe('salvaging a directory', () => {
  it('recovers everything that verifies of a flipped shard and nothing else, and names the rest [SAL-002]', async () => {
    const whole = await makeDirectory();
    const path = branchFile(whole, 'shop');
    const actor = actorOf(whole, path);
    const before = contentOf(whole, actor);
    const bytes = readFileSync(path);
    const from = copyOf(whole);
    const target = join(from, relative(whole, path));
    let losses = 0;
    for (let page = 3; page < bytes.length / 4096; page += 13) {
      for (const within of [24, 3000, 3900]) {
        const flipped = Buffer.from(bytes);
        const at = page * 4096 + within + (page % 60);
        flipped[at] = (flipped[at] as number) ^ (1 << (at % 8));
        writeFileSync(target, flipped);
        const { into, report } = await salvage(from);
        const after = contentOf(into, actor);
        const nodes = [...before].filter((row) => row.startsWith('nodes '));
        const lost = nodes.filter((row) => !after.has(row));
        if (lost.length > 0) losses += 1;
        if (lost.length > 0) expect(report.missing.length, `page ${page} at ${at}`).toBeGreaterThan(0);
        // No content that was not there; only the tree and the indexes may be made anew.
        for (const row of after) {
          if (/^(?:nodes|nodeVersions|revisions|revisionChanges|definitions|audit) /.test(row))
            expect(before.has(row), `page ${page} at ${at}: ${row.slice(0, 100)}`).toBe(true);
        }
        discard(join(into, '..'));
      }
    }
    expect(losses).toBeGreaterThan(1);
    discard(from, whole);
  });
});
