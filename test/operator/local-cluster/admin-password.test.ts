import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FirstPassword } from '#operator/local-cluster/admin-password.ts';
import { systemRandom } from '#runtime/base/random.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grove-first-password-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

describe('the password of the first administrator of a cluster', () => {
  it('stays the same until a start has shown it, and others cannot read it', () => {
    const password = new FirstPassword(folder).toStartWith(systemRandom);
    expect(password).toHaveLength(16);
    expect(new FirstPassword(folder).toStartWith(systemRandom)).toBe(password);
    for (const file of readdirSync(folder)) expect(statSync(join(folder, file)).mode & 0o077).toBe(0);
  });

  it('is nowhere after it was shown, and no other one is made', () => {
    const first = new FirstPassword(folder);
    const password = first.toStartWith(systemRandom) as string;
    first.forget();
    for (const file of readdirSync(folder))
      expect(readFileSync(join(folder, file), 'utf8')).not.toContain(password);
    expect(new FirstPassword(folder).toStartWith(systemRandom)).toBeUndefined();
  });
});
