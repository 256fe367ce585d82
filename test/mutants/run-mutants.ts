import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createVitest, parseAstAsync, type Reporter } from 'vitest/node';
import { assert } from '#runtime/base/assert.ts';
import type { MutantAnswer, MutantOutcome, MutantRun } from './mutant-run.ts';

/*
 * The process of a `MutantRunner`: runs tests with one file of the sources changed, one message after another. The
 * files stay as they are. One Vitest serves all runs, so that it is started and the sources are transformed once; each
 * test file has a process of its own, so that no module of a run is left for the next.
 */
const root = join(import.meta.dirname, '../..');

/** A test that waits for what does not come without a guard has failed. No test that a mutant names takes as long. */
const TEST_MS_MAX = 30_000;

let change: MutantRun['change'];

/** What the tests of this run told so far. Vitest keeps the results of earlier runs, so they are counted as they come. */
let found = 0;
let failed = 0;
let unloaded: string[] = [];

const counter: Reporter = {
  onTestModuleCollected: (module) => {
    found += [...module.children.allTests()].length;
  },
  onTestCaseResult: (test) => {
    if (test.result().state === 'failed') failed += 1;
  },
  onTestModuleEnd: (module) => {
    if (module.children.size > 0) return;
    unloaded.push(...module.errors().map(({ message }) => `${module.relativeModuleId}: ${message}`));
  },
};

/** Vitest passes on what the processes of tests print, which is of no use here. */
const nowhere = new Writable({ write: (_chunk, _encoding, written) => written() });

const vitest = await createVitest(
  'test',
  {
    config: false,
    root,
    watch: false,
    reporters: [counter],
    bail: 1,
    env: { WORKLOADS: 'all', PATIENCE_MS: '10000' },
    setupFiles: [join(import.meta.dirname, 'same-workloads.ts')],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: TEST_MS_MAX,
    hookTimeout: TEST_MS_MAX,
    deps: { interopDefault: false },
    // Files of this cache would be found by the next run, whatever was changed in them.
    fsModuleCache: false,
  },
  {
    plugins: [
      {
        name: 'with-a-change',
        enforce: 'pre',
        transform: (code, id) =>
          change !== undefined && id === join(root, change.file) ? changed(code, change) : undefined,
      },
    ],
  },
  { stdout: nowhere, stderr: nowhere },
);
const project = vitest.getRootProject();

/** @throws {InvariantError} when the text to replace is not there exactly once */
function changed(code: string, { file, from, to }: NonNullable<MutantRun['change']>): string {
  assert(code.split(from).length === 2, `${file} has not exactly once: ${from}`);
  return code.replace(from, () => to);
}

/** @throws {Error} when the change does not fit its file or is no code, or when a test file cannot be loaded */
async function runTests(run: MutantRun): Promise<MutantOutcome> {
  [found, failed, unloaded] = [0, 0, []];
  if (run.change === undefined) return await outcomeOf(run);
  const path = join(root, run.change.file);
  await parseAstAsync(changed(readFileSync(path, 'utf8'), run.change), { lang: 'ts' }, path);
  change = run.change;
  try {
    vitest.invalidateFile(path);
    return await outcomeOf(run);
  } finally {
    change = undefined;
    vitest.invalidateFile(path);
  }
}

async function outcomeOf({ only, tests }: MutantRun): Promise<MutantOutcome> {
  const named = only === undefined ? {} : { testNamePattern: new RegExp(escaped(only)) };
  await vitest.runTestSpecifications(
    tests.map((test) => project.createSpecification(join(root, test), named)),
  );
  // Processes of tests may outlive a run. This waits for their end, so that none asks for a file later.
  await vitest.cancelCurrentRun('keyboard-input');
  assert(unloaded.length === 0, unloaded.join('\n'));
  return { total: found, failed };
}

const answer = (message: MutantAnswer): void => {
  process.send?.(message);
};

process.on('message', (run: MutantRun) => {
  runTests(run).then(answer, (error: unknown) => answer({ error: String(error) }));
});
// The processes of the tests are of its group, also those that hang.
process.on('disconnect', () => process.kill(-process.pid, 'SIGKILL'));

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
