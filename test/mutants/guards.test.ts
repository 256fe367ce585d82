import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { guardMutants } from './guards.ts';

const root = join(import.meta.dirname, '../..');

it('every mutant names code that its file has exactly once', () => {
  const unfit = guardMutants.filter(
    ({ file, from }) => readFileSync(join(root, file), 'utf8').split(from).length !== 2,
  );
  expect(unfit.map(({ file, from }) => `${file}: ${from}`)).toEqual([]);
});

it('every mutant names tests that exist', () => {
  const missing = guardMutants.flatMap(({ tests }) => tests).filter((test) => !existsSync(join(root, test)));
  expect(missing).toEqual([]);
});
