import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { documentBlocks } from '#test/support/document-blocks.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const ADDRESS = 'http://127.0.0.1:8080';
const SEPARATOR = '<<next>>';

const blocks = documentBlocks('docs/interface/sql.md').filter(({ language }) => language !== '');

let server: TestServer;
/** What each block of commands has printed at last. */
let printed: readonly string[];

beforeAll(async () => {
  requiredProgram('curl');
  server = await startServer();
  const commands = blocks.filter(({ language }) => language === 'bash').map(({ text }) => text);
  const script = commands.join(`\necho '${SEPARATOR}'\n`).replaceAll(ADDRESS, server.url);
  const run = await promisify(execFile)('bash', ['--norc', '-eu', '-o', 'pipefail', '-c', script], {
    env: { PATH: process.env.PATH, GROVE_PASSWORD: ADMIN_PASSWORD },
  });
  expect(run.stderr).toBe('');
  printed = run.stdout.split(`${SEPARATOR}\n`).map((part) => part.trimEnd().split('\n').at(-1) as string);
});

afterAll(() => server.close());

it('the page on SQL shows what a server answers to its commands, in order', () => {
  const answers = blocks.flatMap(({ language, text }, index) =>
    language === 'json' ? [{ text, commands: blocks.slice(0, index) }] : [],
  );
  expect(answers.length).toBeGreaterThan(6);
  for (const { commands, text } of answers) {
    const last = commands.filter(({ language }) => language === 'bash').length - 1;
    expect(JSON.parse(printed[last] as string)).toMatchObject(JSON.parse(text) as object);
  }
});
