import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DocumentBlock, documentBlocks } from '#test/support/document-blocks.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';

const ADDRESS = 'http://127.0.0.1:8080';
const SEPARATOR = '<<next>>';

/** Commands of the guide, each with the part of the answer that stands below them. */
interface Example {
  readonly commands: string;
  readonly answer: unknown;
}

/** The examples in order; a block of JSON belongs to the commands before it. */
function examplesOf(blocks: readonly DocumentBlock[]): readonly Example[] {
  return blocks.flatMap(({ language, text }, index): Example[] => {
    if (language !== 'bash') return [];
    const next = blocks[index + 1];
    return [
      { commands: text, answer: next?.language === 'json' ? (JSON.parse(next.text) as unknown) : undefined },
    ];
  });
}

const blocks = documentBlocks('docs/guide.md');
const examples = examplesOf(blocks);

let server: TestServer;
/** What each example has printed, line by line. */
let printed: readonly (readonly string[])[];

beforeAll(async () => {
  requiredProgram('curl');
  server = await startServer();
  const script = examples.map(({ commands }) => commands).join(`\necho '${SEPARATOR}'\n`);
  // Not in one go: the server is in this process.
  const run = await promisify(execFile)(
    'bash',
    ['--norc', '-eu', '-o', 'pipefail', '-c', script.replaceAll(ADDRESS, server.url)],
    { env: { PATH: process.env.PATH, GROVE_PASSWORD: ADMIN_PASSWORD } },
  );
  expect(run.stderr).toBe('');
  printed = run.stdout.split(`${SEPARATOR}\n`).map((part) => part.split('\n').filter((line) => line !== ''));
});

afterAll(() => server.close());

describe('the guide, executed in page order', () => {
  it('has an answer below the commands that show something, and nothing but commands and answers', () => {
    expect(blocks.map(({ language }) => language).every((each) => ['bash', 'json'].includes(each))).toBe(
      true,
    );
    expect(examples.filter(({ answer }) => answer !== undefined).length).toBeGreaterThan(25);
  });

  it.each(
    examples.flatMap(({ answer, commands }, index) =>
      answer === undefined ? [] : [[commands.trimEnd().split('\n').at(-1) as string, answer, index] as const],
    ),
  )('answers what stands below: %s', (_, answer, index) => {
    const last = JSON.parse(printed[index]?.at(-1) as string) as unknown;
    if (typeof answer === 'object') expect(last).toMatchObject(answer as object);
    else expect(last).toBe(answer);
  });

  it('is refused only where the page shows a refusal', () => {
    const told = new Set(
      examples.flatMap(({ answer }) => {
        const code = (answer as { readonly code?: string } | undefined)?.code;
        return code === undefined ? [] : [code];
      }),
    );
    const codes = printed.flat().flatMap((line) => /^\{"code":"(\w+)"/.exec(line)?.[1] ?? []);
    expect(new Set(codes)).toEqual(told);
    expect(codes).toHaveLength(told.size);
  });
});
