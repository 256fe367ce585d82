import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { clusterTests, leftOut, serverTests } from './left-out.ts';

const root = join(import.meta.dirname, '../..');

it('every test file and test that is not run against a cluster exists, once in the list, with a reason', () => {
  const starting = new Set(serverTests());
  const seen = new Set<string>();
  for (const { file, test, reason } of leftOut) {
    const name = `${file} > ${test ?? ''}`;
    expect(seen.has(name), name).toBe(false);
    seen.add(name);
    expect(existsSync(join(root, file)), file).toBe(true);
    expect(starting.has(file), file).toBe(true);
    expect(reason.length, name).toBeGreaterThan(10);
    if (test === undefined) continue;
    const titles = readFileSync(join(root, file), 'utf8');
    expect(titles.includes(`'${test}'`) || titles.includes(`"${test}"`), name).toBe(true);
    expect(clusterTests(), `${file} is left out whole`).toContain(file);
  }
});

it('every file that starts a server is run against a cluster, except for the listed ones', () => {
  const whole = leftOut.filter(({ test }) => test === undefined);
  expect(clusterTests().length).toBe(serverTests().length - whole.length);
  expect(clusterTests().length).toBeGreaterThan(30);
});
