import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from './source-file.ts';

const page = readFileSync(join(projectRoot, 'docs/security.md'), 'utf8');

/** The rows of the table of a section, without its head and without rows that only divide it. */
function rowsOf(section: string): readonly (readonly string[])[] {
  const text = page.split(`## ${section}\n`)[1]?.split('\n## ')[0] ?? '';
  const lines = text.split('\n').filter((line) => line.startsWith('| '));
  const rows = lines.slice(1).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return rows.filter((cells) => cells.slice(1).some((cell) => cell !== ''));
}

/** Paths in code marks. */
function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(/`(test\/[^`]+)`/g)].map(([, path]) => path as string);
}

describe('the security page', () => {
  it.each([
    ['Destructive actions and their preconditions', 10],
    ['Damage', 8],
    ['Threats and their tests', 80],
  ])('names in each row of "%s" tests that exist and are run', (section, least) => {
    const rows = rowsOf(section);
    expect(rows.length).toBeGreaterThanOrEqual(least);
    for (const cells of rows) {
      const tests = pathsIn(cells.at(-1) as string);
      expect(tests, cells[0]).not.toEqual([]);
      for (const path of tests) {
        const named = `${path} of: ${cells[0]}`;
        expect(existsSync(join(projectRoot, path)), named).toBe(true);
        expect(path, named).toMatch(/\.test\.ts$/);
        const source = readFileSync(join(projectRoot, path), 'utf8');
        expect(source, named).toMatch(/\b(it|test)(\.concurrent)?(\.each(<[^>]+>)?)?\(/);
        expect(source, named).not.toMatch(/\b(it|test|describe)\.(skip|todo)\b/);
      }
    }
  });

  it('has every part of a threat model', () => {
    const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([
      'Assets',
      'Attackers',
      'Trust boundaries',
      'Limits',
      'What strangers learn',
      'Destructive actions and their preconditions',
      'Damage',
      'Threats and their tests',
      'Known limitations',
    ]);
  });
});
