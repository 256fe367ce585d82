import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { requirements } from './manifest.ts';
import { documentTitles, requirementIdPattern, themes } from './requirement.ts';
import { duplicatedIds } from './verdict.ts';

const rowsDirectory = join(import.meta.dirname, 'rows');
const linePattern = /^ {2}\{ id: '([A-Z]+-\d{3})', .*\bstatus: '(?:planned|verified)', .*\},$/;

/** How many numbered items each supplement lists; every one of them must be some row's. */
const listedItems = { 3: 88, 4: 112, 5: 105 };

describe('the requirements manifest', () => {
  it('has unique ids of the stated shape', () => {
    expect(duplicatedIds(requirements)).toEqual([]);
    expect(requirements.filter((row) => !requirementIdPattern.test(row.id))).toEqual([]);
  });

  it('names only known documents and themes', () => {
    const documents = new Set(Object.keys(documentTitles));
    expect(requirements.filter((row) => !documents.has(String(row.document)))).toEqual([]);
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

  it('has a row for every item of the lists of behaviours in the supplements', () => {
    const covered = new Set(requirements.flatMap((row) => row.covers ?? []));
    const listed = Object.entries(listedItems).flatMap(([document, count]) =>
      Array.from({ length: count }, (_, index) => `${document}/${index + 1}`),
    );
    expect(listed.filter((item) => !covered.has(item))).toEqual([]);
    expect([...covered].filter((item) => !listed.includes(item))).toEqual([]);
  });
});
