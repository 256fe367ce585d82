import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { requirements } from './manifest.ts';
import { requirementIdPattern, themes } from './requirement.ts';
import { duplicatedIds } from './verdict.ts';

const rowsDirectory = join(import.meta.dirname, 'rows');
const linePattern = /^ {2}\{ id: '([A-Z]+-\d{3})', .*\bstatus: '(?:planned|verified)', .*\},$/;

/** A heading of a page; that it exists is held by test/tidy. */
const headingPattern = /^(?:docs\/[\w/-]+|README)\.md#[\w-]+$/;

describe('the requirements manifest', () => {
  it('has unique ids of the stated shape', () => {
    expect(duplicatedIds(requirements)).toEqual([]);
    expect(requirements.filter((row) => !requirementIdPattern.test(row.id))).toEqual([]);
  });

  it('names only known themes', () => {
    expect(requirements.filter((row) => !themes.includes(row.theme))).toEqual([]);
  });

  it('promises nothing twice in the same words', () => {
    const seen = new Map<string, string>();
    const repeats = requirements.filter(({ id, behaviour }) => {
      const first = seen.get(behaviour) ?? id;
      seen.set(behaviour, first);
      return first !== id;
    });
    expect(repeats).toEqual([]);
  });

  it('holds the rows of every row file, one editable line each', () => {
    const ids = readdirSync(rowsDirectory).flatMap((name) =>
      readFileSync(join(rowsDirectory, name), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('  {'))
        .map((line) => linePattern.exec(line)?.[1] ?? `${name}: ${line}`),
    );
    expect(ids.sort()).toEqual(requirements.map((row) => row.id).sort());
  });

  it('names the heading that says what is built', () => {
    const built = requirements.filter(({ status }) => status === 'verified');
    expect(built.filter(({ section }) => !headingPattern.test(section))).toEqual([]);
  });
});
