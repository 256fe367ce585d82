import { describe, expect, it } from 'vitest';
import { runProgram } from '#test/support/run-program.ts';

const CLUSTER = 'operator/local-cluster/main.ts';
const DEMO = 'demo/import.ts';
const EXPORT = 'server/export-log.ts';

const cases: readonly (readonly [program: string, args: readonly string[], says: RegExp])[] = [
  [CLUSTER, ['--prot', '8080'], /--prot/],
  [CLUSTER, ['--port', 'http'], /^--port takes a port from 1 to \d+, not 'http'/],
  [DEMO, ['--limt', '1'], /--limt/],
  [DEMO, ['--limit', '0'], /^--limit takes a whole number from 1, not '0'/],
  [EXPORT, [], /^--partition is missing: a number.*\n--data-dir is missing.*\n--to is missing.*\n--nats is/],
  [
    EXPORT,
    ['--partition', 'seven', '--data-dir', 'd', '--to', 't', '--nats', 'n'],
    /^--partition takes a number.*'seven'/,
  ],
  [EXPORT, ['--partition', '7', '--data-dir', 'd', '--nats', 'nats://n'], /^--to is missing.*\n\nnpm run/],
];

describe('a program that is given wrong arguments', () => {
  it.each(cases)('ends with exit code 2 and says which ones: %s %j', async (program, args, says) => {
    const { code, stdout, stderr } = await runProgram(program, args, { GROVE_PASSWORD: 'x' });
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(says);
    expect(stderr).not.toMatch(/^ +at /m);
  });
});
