import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One test as vitest's JSON reporter tells it. */
export interface TestOutcome {
  /** Path of the test file. */
  readonly file: string;
  /** Titles of the suites around it and its own, joined by spaces. */
  readonly fullTitle: string;
  readonly outcome: 'passed' | 'failed' | 'skipped';
}

/** What stands in the result files of a folder. */
export interface TestResults {
  readonly tests: readonly TestOutcome[];
  /** Test files that failed without a failed test: an import or a hook threw, so that their tests did not run. */
  readonly brokenFiles: readonly string[];
  /** Names of the result files that were read. */
  readonly resultFiles: readonly string[];
}

interface Report {
  readonly startTime?: number;
  readonly testResults: readonly SuiteReport[];
}

interface SuiteReport {
  readonly name: string;
  readonly status: string;
  readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
}

function isReport(value: unknown): value is Report {
  if (typeof value !== 'object' || value === null || !('testResults' in value)) return false;
  const suites = value.testResults;
  return Array.isArray(suites) && suites.every((suite) => Array.isArray(suite?.assertionResults));
}

function readReport(path: string): Report {
  let parsed: unknown;
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    throw new Error(`${path} is not JSON; run the tests again`, { cause });
  }
  if (!isReport(parsed)) throw new Error(`${path} was not written by vitest's JSON reporter; remove it`);
  return parsed;
}

function outcomeOf(status: string): TestOutcome['outcome'] {
  if (status === 'passed' || status === 'failed') return status;
  return 'skipped';
}

/**
 * Reads every `*.json` file of a folder as a result of vitest's JSON reporter.
 *
 * Where two result files tell of one test file, the run that started later counts: a repeated run replaces the
 * earlier one instead of doubling the sums. Runs against a cluster, in files whose names begin with `cluster`, are
 * judged apart from the others, so that neither kind hides what the other one shows.
 *
 * @param directory folder of the result files; a missing one holds no results
 * @throws {Error} when a file is not JSON or not of the reporter's shape
 */
export function readTestResults(directory: string): TestResults {
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    names = [];
  }
  names.sort();
  const reports = names.map((name) => ({ name, report: readReport(join(directory, name)) }));
  reports.sort((left, right) => (left.report.startTime ?? 0) - (right.report.startTime ?? 0));
  const suites = new Map<string, SuiteReport>();
  for (const { name, report } of reports) {
    const kind = name.startsWith('cluster') ? 'cluster' : 'embedded';
    for (const suite of report.testResults) suites.set(`${kind} ${suite.name}`, suite);
  }
  const tests: TestOutcome[] = [];
  const brokenFiles: string[] = [];
  for (const suite of suites.values()) {
    const file = suite.name;
    const blamesNoTest = suite.assertionResults.every((result) => result.status !== 'failed');
    if (suite.status === 'failed' && blamesNoTest) brokenFiles.push(file);
    for (const result of suite.assertionResults) {
      tests.push({ file, fullTitle: result.fullName, outcome: outcomeOf(result.status) });
    }
  }
  return { tests, brokenFiles, resultFiles: names };
}
