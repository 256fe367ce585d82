import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { documentBlocks } from './document-blocks.ts';
import { requiredProgram } from './required-program.ts';
import { ADMIN_PASSWORD, type TestServer } from './server.ts';

const ADDRESS = 'http://127.0.0.1:8080';
const SEPARATOR = '<<next>>';

/** What a page shows below a block of commands, and what the commands have printed. */
export interface PageExample {
  readonly commands: string;
  /** One value a line. */
  readonly shown: readonly object[];
  /** The last lines that were printed, as many as are shown. */
  readonly printed: readonly object[];
}

/**
 * Runs the commands of a page against a server, in order. A block of `json` stands below the block of `bash` whose last lines
 * it shows, one value a line or a single value over several lines.
 *
 * @param page path of the page from the root of the repository
 */
export async function pageExamples(server: TestServer, page: string): Promise<readonly PageExample[]> {
  requiredProgram('curl');
  const blocks = documentBlocks(page).filter(({ language }) => language !== '');
  const commands = blocks.filter(({ language }) => language === 'bash').map(({ text }) => text);
  const script = commands.join(`\necho '${SEPARATOR}'\n`).replaceAll(ADDRESS, server.url);
  const run = await promisify(execFile)('bash', ['--norc', '-eu', '-o', 'pipefail', '-c', script], {
    env: { PATH: process.env.PATH, GROVE_PASSWORD: ADMIN_PASSWORD },
  });
  if (run.stderr !== '') throw new Error(`The commands of ${page} complain: ${run.stderr}`);
  const outputs = run.stdout.split(`${SEPARATOR}\n`).map((part) => part.trimEnd().split('\n'));
  let last = -1;
  return blocks.flatMap(({ language, text }) => {
    if (language === 'bash') last += 1;
    if (language !== 'json') return [];
    const shown = valuesIn(text);
    const printed = (outputs[last] as string[])
      .slice(-shown.length)
      .map((line) => JSON.parse(line) as object);
    return [{ commands: commands[last] as string, shown, printed }];
  });
}

function valuesIn(text: string): readonly object[] {
  try {
    return [JSON.parse(text) as object];
  } catch {
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
  }
}
