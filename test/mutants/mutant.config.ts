import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { guardMutants } from './guards.ts';

/** Runs tests with one guard taken away: the one whose number `MUTANT` is. The sources stay as they are. */
const { file, from, to } = guardMutants[Number(process.env.MUTANT)] as (typeof guardMutants)[number];
const root = join(import.meta.dirname, '../..');
const path = join(root, file);
if (readFileSync(path, 'utf8').split(from).length !== 2)
  throw new Error(`${file} has the guard not once: ${from}`);

export default defineConfig({
  root,
  plugins: [
    {
      name: 'without-a-guard',
      enforce: 'pre',
      transform: (code, id) => (id === path ? code.replace(from, () => to) : undefined),
      // What was transformed before, with another guard taken away or with none, is not to be believed.
      configureVitest: ({ defineCacheKeyGenerator }) =>
        defineCacheKeyGenerator(({ id }) => (id === path ? false : undefined)),
    },
  ],
  test: {
    env: { WORKLOADS: 'all' },
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 60_000,
    deps: { interopDefault: false },
  },
});
