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

describe('a program that is given a crash point that does not exist', () => {
  it.each([
    ['server/main.ts', [], 2],
    ['server/backup/restore.ts', ['--from', '/nowhere', '--into', '/tmp/never-made'], 1],
  ] as const)(
    'does not start, and names those that exist, without a stack: %s',
    async (program, args, ends) => {
      const { code, stderr } = await runProgram(program, args, { SVC_CRASH_POINT: 'nope' });
      expect(stderr).toMatch(/SVC_CRASH_POINT 'nope' is not <name>:<hit>.* with one of .*after-durable/);
      expect(stderr).not.toMatch(/^ +at /m);
      expect(code).toBe(ends);
    },
  );
});
