import {
  type ChildProcess,
  type ChildProcessWithoutNullStreams,
  execFileSync,
  spawn,
} from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { requiredProgram } from './required-program.ts';

const READY_WAIT_MS = 60_000;
const READY_POLL_MS = 20;
/** Names the socket; nothing listens on the network. */
const PORT = '5432';
const END = '-- end of answer --';

/** What PostgreSQL says to a statement: the lines of its answer, or its error. */
export type PostgresAnswer = { readonly lines: readonly string[] } | { readonly error: string };

/** An unprivileged user, where this process is root: PostgreSQL refuses to run as root. */
interface User {
  readonly uid: number;
  readonly gid: number;
}

/**
 * A PostgreSQL in a folder of its own, reached through a socket in it, and one psql that asks it. Text is ordered by
 * code points, times are in UTC, and nothing is flushed to the disk.
 */
export class PostgresServer {
  readonly #server: ChildProcess;
  readonly #psql: ChildProcessWithoutNullStreams;
  readonly #folder: string;
  #output = '';
  #errors = '';
  #arrived: (() => void) | undefined;

  private constructor(server: ChildProcess, psql: ChildProcessWithoutNullStreams, folder: string) {
    this.#server = server;
    this.#psql = psql;
    this.#folder = folder;
    psql.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#output += text;
      this.#arrived?.();
    });
    psql.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    psql.on('exit', () => this.#arrived?.());
  }

  static async start(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'postgres-'));
    const user = unprivilegedUser();
    if (user !== undefined) chownSync(folder, user.uid, user.gid);
    const data = join(folder, 'data');
    const environment = { ...process.env, LC_ALL: 'C.UTF-8' };
    const options = { ...user, cwd: folder, env: environment } as const;
    const making = ['-D', data, '-U', 'test', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'];
    execFileSync(requiredProgram('initdb'), making, { ...options, stdio: 'pipe' });
    const settings = [
      'fsync=off',
      'timezone=UTC',
      'max_connections=10',
      'shared_buffers=16MB',
      'autovacuum=off',
    ];
    const args = [
      '-D',
      data,
      '-h',
      '',
      '-k',
      folder,
      '-p',
      PORT,
      ...settings.flatMap((each) => ['-c', each]),
    ];
    const server = spawn(requiredProgram('postgres'), args, { ...options, stdio: 'ignore' });
    for (let waited = 0; !existsSync(join(folder, `.s.PGSQL.${PORT}`)); waited += READY_POLL_MS) {
      if (waited > READY_WAIT_MS || server.exitCode !== null) throw new Error('PostgreSQL did not start');
      await wait(READY_POLL_MS);
    }
    const ask = ['-X', '-q', '-A', '-t', '-h', folder, '-p', PORT, '-U', 'test', 'postgres'];
    const psql = spawn(requiredProgram('psql'), ask, { env: environment });
    const started = new PostgresServer(server, psql, folder);
    for (;;) {
      const answer = await started.ask('SELECT 1');
      if ('lines' in answer && answer.lines[0] === '1') return started;
      if (psql.exitCode !== null) throw new Error(`psql ended: ${started.#errors}`);
    }
  }

  /** Runs statements that answer nothing. @throws {Error} when one fails */
  async run(sql: string): Promise<void> {
    const answer = await this.ask(sql);
    if ('error' in answer) throw new Error(answer.error);
  }

  /** Asks one statement, one at a time. */
  async ask(sql: string): Promise<PostgresAnswer> {
    this.#output = '';
    this.#errors = '';
    const end = `\\if :ERROR\n\\echo ${END} :LAST_ERROR_MESSAGE\n\\else\n\\echo ${END}\n\\endif\n`;
    this.#psql.stdin.write(`${sql}\n;\n${end}`);
    while (!this.#isComplete()) {
      if (this.#psql.exitCode !== null) throw new Error(`psql ended: ${this.#errors}`);
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
    const at = this.#output.lastIndexOf(END);
    const error = this.#output.slice(at + END.length).trim();
    if (error !== '') return { error };
    const text = this.#output.slice(0, at);
    return { lines: text === '' ? [] : text.slice(0, -1).split('\n') };
  }

  #isComplete(): boolean {
    const at = this.#output.lastIndexOf(END);
    return at >= 0 && this.#output.indexOf('\n', at) >= 0;
  }

  async stop(): Promise<void> {
    this.#psql.stdin.end();
    // An immediate shutdown: nothing of it is kept.
    const ended = once(this.#server, 'exit');
    this.#server.kill('SIGQUIT');
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function unprivilegedUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const ask = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: ask('-u'), gid: ask('-g') };
}
