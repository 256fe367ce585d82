import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { documentBlocks } from '#test/support/document-blocks.ts';
import { freePorts } from '#test/support/free-ports.ts';
import { requiredProgram } from '#test/support/required-program.ts';
import { until } from '#test/support/until.ts';
import { productFolders, projectRoot } from '#test/tidy/source-file.ts';

const ADDRESS = 'http://127.0.0.1:8080';

/** What every server of the README listens on here, and those who follow it have free. */
let port: number;
/** Where somebody who follows the README stands: commands see the project there, data is apart from it. */
let folder: string;

/** A block as it is run: installed is the project already, and its tests are what is running. */
function commands(text: string): string {
  return text
    .replaceAll(/^npm ci$/gm, ':')
    .replaceAll(/\bnpm test\b/g, ':')
    .replaceAll(ADDRESS, `http://127.0.0.1:${port}`);
}

/** Starts a server as a block says, in the foreground of a terminal of its own. */
class Terminal {
  readonly #shell: ChildProcess;
  readonly #ended: Promise<number | null>;
  output = '';

  constructor(text: string) {
    const env = { ...newcomersEnvironment(), PORT: String(port) };
    const detached = true;
    this.#shell = spawn('bash', ['--norc', '-eu', '-c', text], { cwd: folder, env, detached });
    for (const stream of [this.#shell.stdout, this.#shell.stderr])
      stream?.setEncoding('utf8').on('data', (part: string) => {
        this.output += part;
      });
    this.#ended = new Promise((resolve) => this.#shell.once('close', resolve));
  }

  async ready(): Promise<void> {
    await until(
      () => this.output.includes('"msg":"ready"') || this.#shell.exitCode !== null,
      'the server is ready',
      60_000,
    );
    if (this.#shell.exitCode !== null) throw new Error(`the server ended: ${this.output}`);
  }

  /** Ctrl-C: all processes of a terminal get it. @returns the exit code */
  async interrupt(): Promise<number | null> {
    if (this.#shell.exitCode === null && this.#shell.signalCode === null)
      process.kill(-(this.#shell.pid as number), 'SIGINT');
    return this.#ended;
  }
}

/** Nothing of what steers a server is set, whatever runs the tests. */
function newcomersEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SVC_|GROVE_|PORT$)/.test(name)),
  );
}

describe('the README, executed in page order', () => {
  const terminals: Terminal[] = [];
  let output: readonly string[];

  beforeAll(async () => {
    requiredProgram('curl');
    port = await freePorts([0]);
    folder = mkdtempSync(join(tmpdir(), 'grove-readme-'));
    for (const name of ['node_modules', 'package.json', ...productFolders, 'demo'])
      symlinkSync(join(projectRoot, name), join(folder, name));
    const script: string[] = [];
    for (const { language, text } of documentBlocks('README.md')) {
      if (language !== 'bash') continue;
      if (!text.includes('npm start')) {
        // What imports all documentation of this machine is shown something small.
        script.push(commands(text).replace('npm run demo', 'npm run -s demo -- docs'));
        continue;
      }
      expect(script.every((block) => block.trim() === ':')).toBe(true);
      expect(await terminals.at(-1)?.interrupt()).toBeOneOf([undefined, 0]);
      const terminal = new Terminal(commands(text));
      terminals.push(terminal);
      await terminal.ready();
    }
    symlinkSync(join(projectRoot, 'docs/decisions'), join(folder, 'docs'));
    const run = spawnSync(
      'bash',
      ['--norc', '-eu', '-o', 'pipefail', '-c', script.join('\necho "<<next>>"\n')],
      {
        encoding: 'utf8',
        cwd: folder,
        env: { ...newcomersEnvironment(), GROVE_URL: `http://127.0.0.1:${port}` },
      },
    );
    expect(run.stderr.replaceAll(/^npm warn .*\n/gm, '')).toBe('');
    expect(run.status).toBe(0);
    output = run.stdout.split('<<next>>\n').map((part) => part.trim());
  }, 180_000);

  afterAll(async () => {
    for (const terminal of terminals) await terminal.interrupt();
    rmSync(folder, { recursive: true });
  });

  /** What the block with these words answered. */
  const answers = (words: string): readonly string[] => {
    const index = documentBlocks('README.md')
      .filter(({ language, text }) => language === 'bash' && !text.includes('npm start'))
      .findIndex(({ text }) => text.includes(words));
    return (output[index] as string).split('\n').filter((line) => line !== '');
  };

  it('starts once, with the password of the tour, which is not printed', () => {
    expect(terminals).toHaveLength(1);
    expect(terminals[0]?.output).not.toMatch(/password {2}\S+/);
    expect(terminals[0]?.output).toContain('Log in and keep the token');
    expect(existsSync(join(folder, 'data-tour', 'journal'))).toBe(true);
    expect(existsSync(join(folder, 'data'))).toBe(false);
  });

  it('logs in and makes a repository [DEMO-002]', () => {
    expect(JSON.parse(answers('"repo_id":"magazine"')[0] as string)).toMatchObject({
      repo_id: 'magazine',
      branches: ['main'],
    });
  });

  it('answers every line with JSON, and only the bad write with an error [DEMO-002]', () => {
    const lines = output.slice(0, -1).flatMap((part) => part.split('\n').filter((line) => line !== ''));
    const errors = lines.filter((line) => /^\{"code":/.test(line));
    for (const line of lines) expect(() => JSON.parse(line), line).not.toThrow();
    expect(errors).toHaveLength(1);
    expect(JSON.parse(errors[0] as string)).toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it('reads the first state of the article at its first revision [DEMO-002]', () => {
    const last = answers('/rev/$FIRST/').at(-1) as string;
    expect(JSON.parse(last).properties).toMatchObject({ title: 'Gardens in March', words: 1200 });
  });

  it('imports documents [DEMO-003]', () => {
    expect(answers('npm run demo').join('\n')).toMatch(/\d+ nodes created, 0 updated/);
  });
});
