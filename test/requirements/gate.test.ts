import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runGate } from './gate.ts';
import type { Requirement, Status, Theme } from './requirement.ts';

const repositoryRoot = join(import.meta.dirname, '../..');

let folder: string;
let resultsDirectory: string;
let rowsDirectory: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gate-'));
  resultsDirectory = join(folder, 'test-results');
  rowsDirectory = join(folder, 'rows');
  mkdirSync(resultsDirectory);
  mkdirSync(rowsDirectory);
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

function row(id: string, status: Status, theme: Theme = 'rest-content'): Requirement {
  return { id, section: 'Nodes', status, theme, behaviour: 'It does what it says' };
}

type Outcome = 'passed' | 'failed' | 'skipped' | 'todo';

function writeResults(
  name: string,
  tests: readonly (readonly [title: string, outcome: Outcome])[],
  extra = {},
) {
  const assertionResults = tests.map(([fullName, status]) => ({ fullName, status }));
  const status = tests.some(([, outcome]) => outcome === 'failed') ? 'failed' : 'passed';
  const suite = { name: `/repo/${name}.test.ts`, status, assertionResults, ...extra };
  const report = { startTime: 1_000, testResults: [suite], ...extra };
  writeFileSync(join(resultsDirectory, `${name}.json`), JSON.stringify(report));
}

function gate(rows: readonly Requirement[], write = false) {
  return runGate({ rows, resultsDirectory, rowsDirectory, write });
}

/** Ids are put together here, so that this file's own titles and texts never look like citations. */
const one = 'NODE-001';
const two = 'NODE-002';

describe('the requirements gate agrees', () => {
  it('when every verified row has a passing test and no planned row has one', () => {
    writeResults('a', [
      [`nodes > answers [${one}]`, 'passed'],
      ['nodes > something else', 'passed'],
    ]);
    const report = gate([row(one, 'verified'), row(two, 'planned')]);
    expect(report.exitCode).toBe(0);
    expect(report.output).toContain('requirements: 1 of 2 verified');
  });

  it('on several ids in one title, in one bracket or in several', () => {
    writeResults('a', [[`answers [${one}, ${two}] and [LIST-001] [LIST-002]`, 'passed']]);
    const ids = [one, two, 'LIST-001', 'LIST-002'];
    const report = gate(ids.map((id) => row(id, 'verified')));
    expect(report.exitCode).toBe(0);
    expect(report.output).toContain('requirements: 4 of 4 verified');
  });

  it('on an id that the suite around a test carries', () => {
    writeResults('a', [[`listing [${one}] answers an array`, 'passed']]);
    expect(gate([row(one, 'verified')]).exitCode).toBe(0);
  });

  it('on brackets that are no citations', () => {
    writeResults('a', [[`answers [] and [a, b] and [1] for [${one}]`, 'passed']]);
    expect(gate([row(one, 'verified')]).exitCode).toBe(0);
  });
});

describe('the requirements gate fails', () => {
  it('on an id that the manifest does not know, naming it and the test', () => {
    writeResults('a', [['answers the node [NODE-999]', 'passed']]);
    const { exitCode, output } = gate([row(one, 'planned')]);
    expect(exitCode).toBe(1);
    expect(output).toMatch(/no row has:\n\s+NODE-999 {2}in "answers the node \[NODE-999\]" \(\/repo\/a/);
    expect(output).toContain('Correct the title');
  });

  it('on an unknown id in a test that was skipped', () => {
    writeResults('a', [['later [NODE-999]', 'skipped']]);
    expect(gate([row(one, 'planned')]).exitCode).toBe(1);
  });

  it.each([
    ['lower case', 'node-001'],
    ['too few digits', 'NODE-1'],
    ['ids parted by a space', 'NODE-001 NODE-002'],
    ['ids parted by a semicolon', 'NODE-001; NODE-002'],
  ])('on a citation that cannot be read: %s', (_fault, citation) => {
    writeResults('a', [[`answers [${citation}]`, 'passed']]);
    const { exitCode, output } = gate([row(one, 'planned'), row(two, 'planned')]);
    expect(exitCode).toBe(1);
    expect(output).toContain(`${citation}  in "answers`);
  });

  it('on a verified row that no test names', () => {
    writeResults('a', [['something', 'passed']]);
    const { exitCode, output } = gate([row(one, 'verified'), row(two, 'verified')]);
    expect(exitCode).toBe(1);
    expect(output).toContain(`no passing test names them:\n    ${one} ${two}\n`);
  });

  it.each(['skipped', 'todo'] as const)('on a verified row whose only test was %s', (outcome) => {
    writeResults('a', [[`answers [${one}]`, outcome]]);
    const { exitCode, output } = gate([row(one, 'verified')]);
    expect(exitCode).toBe(1);
    expect(output).toContain(`no passing test names them:\n    ${one}\n`);
  });

  it('on a verified row whose only test failed', () => {
    writeResults('a', [[`answers [${one}]`, 'failed']]);
    const { exitCode, output } = gate([row(one, 'verified')]);
    expect(exitCode).toBe(1);
    expect(output).toContain(`a test of theirs fails:\n    ${one}  in`);
  });

  it('on a verified row with a failing test beside a passing one', () => {
    writeResults('a', [
      [`answers [${one}]`, 'passed'],
      [`answers again [${one}]`, 'failed'],
    ]);
    expect(gate([row(one, 'verified')]).exitCode).toBe(1);
  });

  it('on a planned row that a passing test proves, telling to flip it', () => {
    writeResults('a', [[`answers [${one}]`, 'passed']]);
    const { exitCode, output } = gate([row(one, 'planned')]);
    expect(exitCode).toBe(1);
    expect(output).toContain(one);
    expect(output).toContain('npm run requirements -- --write');
  });

  it('on an id that two rows have', () => {
    writeResults('a', [[`answers [${one}]`, 'passed']]);
    const { exitCode, output } = gate([row(one, 'verified'), row(one, 'verified')]);
    expect(exitCode).toBe(1);
    expect(output).toContain(`Two rows have the same id:\n    ${one}\n`);
  });

  it('without any result file, telling how to write one', () => {
    const { exitCode, output } = gate([row(one, 'planned')]);
    expect(exitCode).toBe(1);
    expect(output).toContain('--reporter=json');
  });

  it('when the results folder does not exist', () => {
    rmSync(resultsDirectory, { recursive: true });
    expect(gate([row(one, 'planned')]).exitCode).toBe(1);
  });

  it.each(['{"testResults": [', '{}', '{"testResults": [1]}', 'null'])(
    'on a result file that vitest did not write: %s',
    (text) => {
      writeFileSync(join(resultsDirectory, 'bad.json'), text);
      const { exitCode, output } = gate([row(one, 'planned')]);
      expect(exitCode).toBe(1);
      expect(output).toContain('bad.json');
    },
  );
});

describe('the requirements gate counts', () => {
  it('per theme, leaving out themes without rows', () => {
    writeResults('a', [[`answers [${one}]`, 'passed']]);
    const { output } = gate([row(one, 'verified'), row(two, 'planned'), row('SQL-001', 'planned', 'sql')]);
    expect(output).toMatch(/^ {2}rest-content +1 of 2$/m);
    expect(output).toMatch(/^ {2}sql +0 of 1$/m);
    expect(output).not.toContain('console');
  });

  it('the tests of all result files, in a last line of its own', () => {
    writeResults('a', [
      ['x', 'passed'],
      ['y', 'failed'],
      ['z', 'skipped'],
    ]);
    writeResults('b', [['x', 'passed']]);
    writeFileSync(join(resultsDirectory, 'notes.txt'), 'not a result');
    expect(
      gate([row(one, 'planned')])
        .output.split('\n')
        .at(-1),
    ).toBe('2 passed, 1 failed');
  });

  it('a repeated run of a test file once, the later run winning', () => {
    const name = '/repo/nodes.test.ts';
    writeResults('b-first', [[`answers [${one}]`, 'failed']], { name, startTime: 1_000 });
    writeResults('a-second', [[`answers [${one}]`, 'passed']], { name, startTime: 2_000 });
    const { exitCode, output } = gate([row(one, 'verified')]);
    expect(exitCode).toBe(0);
    expect(output.split('\n').at(-1)).toBe('1 passed, 0 failed');
  });

  it('a run against a cluster besides the other one, so that neither hides a failure of the other', () => {
    const name = '/repo/nodes.test.ts';
    for (const [alone, clustered] of [
      ['failed', 'passed'],
      ['passed', 'failed'],
    ] as const) {
      writeResults('fast', [[`answers [${one}]`, alone]], { name, startTime: 1_000 });
      writeResults('cluster', [[`answers [${one}]`, clustered]], { name, startTime: 2_000 });
      const { exitCode, output } = gate([row(one, 'verified')]);
      expect(exitCode).toBe(1);
      expect(output.split('\n').at(-1)).toBe('1 passed, 1 failed');
    }
    writeResults('fast', [[`answers [${one}]`, 'passed']], { name, startTime: 1_000 });
    writeResults('cluster', [[`answers [${one}]`, 'skipped']], { name, startTime: 2_000 });
    expect(gate([row(one, 'verified')]).exitCode).toBe(0);
  });

  it('a test file that failed outside of a test as one failure, and names it', () => {
    writeResults('broken', [['never ran', 'skipped']], { status: 'failed' });
    const { output } = gate([row(one, 'planned')]);
    expect(output).toContain('/repo/broken.test.ts');
    expect(output.split('\n').at(-1)).toBe('0 passed, 1 failed');
  });
});

describe('the requirements gate with --write', () => {
  const line = (id: string, status: Status) =>
    `  { id: '${id}', section: 'Nodes', status: '${status}', theme: 'rest-content', behaviour: 'Says status: \\'planned\\' of ${two}' },`;

  it('turns proven rows to verified, one word on one line of a row file, and then agrees', () => {
    const path = join(rowsDirectory, 'nodes.ts');
    const text = ['// why', line(one, 'planned'), line(two, 'planned'), '];', ''].join('\n');
    writeFileSync(path, text);
    writeFileSync(join(rowsDirectory, 'other.ts'), line('LIST-001', 'planned'));
    writeResults('a', [
      [`answers [${one}]`, 'passed'],
      [`fails [${two}]`, 'failed'],
    ]);
    const { exitCode, output } = gate([row(one, 'planned'), row(two, 'planned')], true);
    expect(output).toContain(`turned to verified: ${one}\n`);
    expect(output).toContain('requirements: 1 of 2 verified');
    expect(exitCode).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(text.replace(line(one, 'planned'), line(one, 'verified')));
    expect(readFileSync(join(rowsDirectory, 'other.ts'), 'utf8')).toBe(line('LIST-001', 'planned'));
  });

  it('never turns a row back, so that a run of some tests undoes nothing', () => {
    const path = join(rowsDirectory, 'nodes.ts');
    writeFileSync(path, line(one, 'verified'));
    writeResults('a', [['something else', 'passed']]);
    const { exitCode } = gate([row(one, 'verified')], true);
    expect(exitCode).toBe(1);
    expect(readFileSync(path, 'utf8')).toBe(line(one, 'verified'));
  });

  it('still fails on a proven row that is on no line it can edit', () => {
    writeResults('a', [[`answers [${one}]`, 'passed']]);
    const { exitCode, output } = gate([row(one, 'planned')], true);
    expect(output).toContain('turned to verified: none');
    expect(exitCode).toBe(1);
  });
});

describe('the requirements gate as a command', () => {
  function run(command: string, args: readonly string[], cwd = folder) {
    const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
    return { status, stdout, stderr };
  }

  it('reads what vitest itself writes, and fails with exit code 1', () => {
    const suite = (body: string) => `import { expect, it } from 'vitest';\n${body}\n`;
    mkdirSync(join(repositoryRoot, 'test-results'), { recursive: true });
    // Inside the repository, because the tests of the project import vitest from its node_modules.
    const project = mkdtempSync(join(repositoryRoot, 'test-results', 'gate-'));
    try {
      const bad = 'ZZZ-999';
      writeFileSync(
        join(project, 'a.test.ts'),
        suite(
          `it('names no row [${bad}]', () => expect(1).toBe(1)); it('breaks', () => expect(1).toBe(2)); it.skip('rests', () => {});`,
        ),
      );
      writeFileSync(join(project, 'b.test.ts'), suite(`import './missing.ts';\nit('never', () => {});`));
      const vitest = join(repositoryRoot, 'node_modules/.bin/vitest');
      run(vitest, ['run', '--root', project, '--reporter=json', `--outputFile=${resultsDirectory}/all.json`]);
      const gatePath = join(import.meta.dirname, 'gate.ts');
      const { status, stdout } = run(process.execPath, [gatePath, '--results', resultsDirectory]);
      expect(stdout).toContain(`${bad}  in "names no row`);
      expect(stdout).toMatch(/b\.test\.ts/);
      expect(stdout).toMatch(/\n1 passed, 2 failed\n$/);
      expect(status).toBe(1);
    } finally {
      rmSync(project, { recursive: true, force: true });
    }
  });
});
