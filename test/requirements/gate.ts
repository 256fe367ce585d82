import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { requirements } from './manifest.ts';
import type { Requirement } from './requirement.ts';
import { markVerified } from './status-writer.ts';
import { readTestResults, type TestOutcome, type TestResults } from './test-results.ts';
import { judge, type Verdict } from './verdict.ts';

/** What the gate compares, and where it writes. */
export interface GateOptions {
  readonly rows: readonly Requirement[];
  /** Folder of the JSON files that vitest wrote. */
  readonly resultsDirectory: string;
  /** Folder of the row files, which `write` edits. */
  readonly rowsDirectory: string;
  /** Turn `planned` rows with a passing test to `verified` before judging. */
  readonly write: boolean;
}

/** What the gate says. */
export interface GateReport {
  /** 0 when manifest and tests agree, else 1. */
  readonly exitCode: 0 | 1;
  /** Text of the report; its last line is `<passed> passed, <failed> failed`. */
  readonly output: string;
}

function nameTests(unknown: ReadonlyMap<string, TestOutcome>): string[] {
  return [...unknown].map(([id, test]) => `    ${id}  in "${test.fullTitle}" (${test.file})`);
}

function problemsOf(verdict: Verdict): string[] {
  const problems: string[] = [];
  const add = (what: string, remedy: string, lines: readonly string[]) => {
    if (lines.length > 0) problems.push(`${what}\n${lines.join('\n')}\n  ${remedy}`);
  };
  const names = (ids: readonly string[]) => (ids.length === 0 ? [] : [`    ${ids.join(' ')}`]);
  add(
    'Two rows have the same id:',
    'Give the younger row the next free number of its prefix.',
    names(verdict.duplicated),
  );
  add(
    'A test title names an id that no row has:',
    'Correct the title, or add the row to test/requirements/rows/.',
    nameTests(verdict.unknown),
  );
  add(
    'These rows are verified, but a test of theirs fails:',
    'Make the test pass again; a promise that was kept once is not taken back.',
    nameTests(verdict.refuted),
  );
  add(
    'These rows are verified, but no passing test names them:',
    'Put the id into the title of the test that proves it, e.g. `[NODE-012]`, or run the whole suite first.',
    names(verdict.unproven),
  );
  add(
    'These rows are planned, but a passing test names them:',
    'Flip them to verified: npm run requirements -- --write',
    names(verdict.proven),
  );
  return problems;
}

function sumsOf(results: TestResults): string {
  const count = (outcome: TestOutcome['outcome']) =>
    results.tests.filter((test) => test.outcome === outcome).length;
  return `${count('passed')} passed, ${count('failed') + results.brokenFiles.length} failed`;
}

function summaryOf(verdict: Verdict): string[] {
  const counts = [...verdict.themeCounts].filter(([, { total }]) => total > 0);
  const verified = counts.reduce((sum, [, count]) => sum + count.verified, 0);
  const total = counts.reduce((sum, [, count]) => sum + count.total, 0);
  return [
    `requirements: ${verified} of ${total} verified`,
    ...counts.map(([theme, count]) => `  ${theme.padEnd(14)} ${count.verified} of ${count.total}`),
  ];
}

/** Compares manifest and test results and says what to do about each difference. */
export function runGate(options: GateOptions): GateReport {
  let results: TestResults;
  try {
    results = readTestResults(options.resultsDirectory);
  } catch (error) {
    return { exitCode: 1, output: (error as Error).message };
  }
  if (results.resultFiles.length === 0) {
    return {
      exitCode: 1,
      output: `No test results in ${options.resultsDirectory}. Write them first:\n  npx vitest run --reporter=json --outputFile=test-results/all.json`,
    };
  }
  const lines: string[] = [];
  let rows = options.rows;
  if (options.write) {
    const turned = new Set(markVerified(options.rowsDirectory, new Set(judge(rows, results).proven)));
    lines.push(`turned to verified: ${turned.size === 0 ? 'none' : [...turned].join(' ')}`);
    rows = rows.map((row) => (turned.has(row.id) ? { ...row, status: 'verified' } : row));
  }
  const verdict = judge(rows, results);
  const problems = problemsOf(verdict);
  if (results.brokenFiles.length > 0) {
    lines.push(
      `These test files failed outside of a test, so their tests count for nothing:\n    ${results.brokenFiles.join('\n    ')}`,
    );
  }
  lines.push(...problems, ...summaryOf(verdict), sumsOf(results));
  return { exitCode: problems.length === 0 ? 0 : 1, output: lines.join('\n') };
}

function main(): void {
  const { values } = parseArgs({
    options: { write: { type: 'boolean', default: false }, results: { type: 'string' } },
  });
  const report = runGate({
    rows: requirements,
    resultsDirectory: values.results ?? join(import.meta.dirname, '../../test-results'),
    rowsDirectory: join(import.meta.dirname, 'rows'),
    write: values.write,
  });
  console.log(report.output);
  process.exitCode = report.exitCode;
}

if (process.argv[1] === import.meta.filename) main();
