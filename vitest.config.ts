import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'vitest/config';
import { clusterTests } from '#test/parity/left-out.ts';
import { LongestFirst } from '#test/support/longest-first.ts';
import { longTests } from '#test/support/long-tests.ts';

/** Makes the start of a program half as long: the suites start some two thousand. */
const strippedModules = pathToFileURL(join(import.meta.dirname, 'test/support/stripped-modules.mjs'));

/**
 * Four projects: `fast` for every change, `slow` (crash loops, long simulations, big trees) and `long` (what takes too long
 * for `fast`) for CI and before a release, and `cluster`: the tests of the interface once more, each server being three members of a cluster that take
 * turns. Results are written for the requirements gate, one file per project.
 */
const shared = {
  pool: 'forks',
  env: { NODE_OPTIONS: `--import=${strippedModules.href}` },
  // Many tests wait for a disk or for a process they started, so a machine of two cores is not left at one file.
  maxWorkers: Math.max(2, availableParallelism() - 1),
  // For what hangs: a test of seconds takes ten times as long on a machine that does much else.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // The default of one second is short for a process that starts beside three other files.
  expect: { poll: { timeout: 20_000 } },
  // A process for each file costs a quarter of the processor's time: they load the same code. Crash loops keep theirs.
  isolate: false,
  // CommonJS packages are imported as Node does it, or a test would run other code than the product.
  deps: { interopDefault: false },
} as const;

/** What `slow` and `long` have in common, which run together. */
const slow = {
  // As in `fast`: files of clusters wait for elections and leases most of the time.
  maxWorkers: Math.max(4, availableParallelism() - 1),
  // A third of the workloads, another one for each commit.
  env: { ...shared.env, WORKLOADS: process.env.WORKLOADS ?? 'part' },
  setupFiles: ['test/support/seed-of-commit.ts'],
  // Crash loops beside this one may hold the disk for seconds at each flush.
  testTimeout: 900_000,
  hookTimeout: 300_000,
};

const installPrograms = 'test/support/install-programs.ts';

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...shared,
          name: 'fast',
          globalSetup: [installPrograms],
          // On two cores two leave four tenths idle, and three a sixth: many files wait for a disk, a server or a timer.
          maxWorkers: Math.max(4, availableParallelism() - 1),
          include: ['test/**/*.test.ts'],
          exclude: ['test/**/*.slow.test.ts', ...longTests],
        },
      },
      {
        test: {
          ...shared,
          name: 'slow',
          globalSetup: [installPrograms],
          include: ['test/**/*.slow.test.ts'],
          ...slow,
          isolate: true,
          maxConcurrency: 2,
        },
      },
      {
        test: {
          ...shared,
          name: 'long',
          globalSetup: [installPrograms],
          // Properties are in both: in `fast` with fewer of their workloads.
          include: ['test/**/*.fuzz.test.ts', ...longTests],
          ...slow,
        },
      },
      {
        test: {
          ...shared,
          name: 'cluster',
          include: [...clusterTests()],
          // Each of them also runs against one member, with more workloads.
          env: { ...shared.env, WORKLOADS: process.env.WORKLOADS ?? 'few' },
          // Members wait for each other, and locks for their time.
          maxWorkers: Math.max(3, availableParallelism() - 1),
          globalSetup: [installPrograms, 'test/parity/nats-for-all.ts'],
          setupFiles: ['test/parity/skip-left-out.ts'],
        },
      },
    ],
  },
});
