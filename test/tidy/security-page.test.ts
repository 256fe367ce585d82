import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from './source-file.ts';

it('names for each threat a test that exists', () => {
  const page = readFileSync(join(projectRoot, 'docs/security.md'), 'utf8');
  const section = page.split('## Threats and their tests')[1]?.split('\n## ')[0] as string;
  const rows = section.split('\n').filter((line) => /^\| (?!Threat|\*\*)/.test(line));
  expect(rows.length).toBeGreaterThan(20);
  for (const row of rows) {
    const tests = [...(row.split('|')[3] as string).matchAll(/`([^`]+)`/g)].map(([, path]) => path as string);
    expect(tests, row).not.toEqual([]);
    for (const path of tests) expect(existsSync(join(projectRoot, path)), `${path} of: ${row}`).toBe(true);
  }
});
