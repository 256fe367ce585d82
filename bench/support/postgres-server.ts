import { type ChildProcess, execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endChild, freePort, runPinned, spawnPinned } from './child.ts';
import { bodyText } from './corpus.ts';
import { GENERATOR_CORE, SERVER_CORE } from './machine.ts';
import { writtenBytesOf } from './process-stat.ts';
import { requiredProgram } from './programs.ts';
import type { Load } from './rounds.ts';

const scripts = join(import.meta.dirname, '..', 'pgbench');
const READY_WAIT_MS = 30_000;
const READY_POLL_MS = 50;

/** A script of bench/pgbench. */
export type PgbenchScript =
  | 'read-path'
  | 'read-id'
  | 'list-page'
  | 'create'
  | 'create-revision'
  | 'update'
  | 'update-revision'
  | 'filter-title'
  | 'equality-top'
  | 'range-top'
  | 'middle-page'
  | 'subtree'
  | 'sql-group'
  | 'sql-join'
  | 'sql-top'
  | 'sql-keyset'
  | 'claim';

/** Unprivileged user of a server that refuses to run as root. */
interface User {
  readonly uid: number;
  readonly gid: number;
}

/**
 * PostgreSQL as Debian ships it, with the configuration initdb writes (fsync and synchronous_commit on), on
 * the server core, reached over TCP like Grove.
 */
export class PostgresServer {
  readonly #child: ChildProcess;
  readonly #port: number;
  readonly #folder: string;
  #runs = 0;
  #articles = 0;

  private constructor(child: ChildProcess, port: number, folder: string) {
    this.#child = child;
    this.#port = port;
    this.#folder = folder;
  }

  /** Creates a new database cluster below `parent` and starts it. */
  static async start(parent: string): Promise<PostgresServer> {
    const initdb = requiredProgram('initdb', 'postgresql');
    const folder = mkdtempSync(join(parent, 'postgres-'));
    const user = unprivilegedUser();
    const dataDir = join(folder, 'data');
    const scriptDir = join(folder, 'scripts');
    mkdirSync(dataDir);
    mkdirSync(scriptDir);
    if (user !== undefined) for (const owned of [folder, dataDir]) chownSync(owned, user.uid, user.gid);
    const environment = { ...process.env, LC_ALL: 'C.UTF-8' };
    execFileSync(initdb, ['-D', dataDir, '-U', 'bench', '-A', 'trust', '-E', 'UTF8'], {
      ...user,
      cwd: folder,
      env: environment,
      stdio: 'pipe',
    });
    const port = await freePort();
    const args = ['-D', dataDir, '-p', String(port), '-h', '127.0.0.1', '-k', folder];
    const postgres = requiredProgram('postgres', 'postgresql');
    const child = spawnPinned(SERVER_CORE, postgres, args, {
      ...user,
      cwd: folder,
      env: environment,
      stdio: 'ignore',
    });
    const server = new PostgresServer(child, port, folder);
    await server.#ready();
    return server;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Creates and fills the table. */
  async load(articles: number): Promise<void> {
    this.#articles = articles;
    await this.#psql('-f', join(scripts, 'schema.sql'));
    await this.#psql('-v', `articles=${articles}`, '-v', `text=${bodyText}`, '-f', join(scripts, 'load.sql'));
  }

  /** Runs a query with a single value. */
  async value(sql: string): Promise<string> {
    return (await this.#psql('-A', '-t', '-c', sql)).trim();
  }

  /**
   * Measures one transaction: growth of the database after a checkpoint, bytes of write-ahead log, bytes written to the
   * disk. The same number of transactions runs before without being counted, because after a checkpoint the first
   * change of each page logs the whole page.
   */
  async bytesOf(
    script: PgbenchScript,
    transactions: number,
  ): Promise<Record<'data' | 'log' | 'written', number>> {
    const clients = 64;
    const length = ['-t', String(Math.ceil(transactions / clients))];
    await this.#run(script, clients, length);
    const read = async (): Promise<readonly [data: number, log: number]> => {
      const sql = "SELECT pg_database_size('postgres') || ' ' || (pg_current_wal_lsn() - '0/0')";
      return (await this.value(sql)).split(' ').map(Number) as [number, number];
    };
    const before = await read();
    const writtenBefore = writtenBytesOf(this.pid);
    const { requests } = await this.#run(script, clients, length);
    const [, log] = await read();
    await this.value('CHECKPOINT');
    const [data] = await read();
    return {
      data: (data - before[0]) / requests,
      log: (log - before[1]) / requests,
      written: (writtenBytesOf(this.pid) - writtenBefore) / requests,
    };
  }

  /**
   * Copies the database with the table and removes the copy. No connection to the database may be open.
   *
   * @param strategy `file_copy` and `wal_log` since PostgreSQL 15
   * @returns duration of the copy in milliseconds, and its size in bytes
   */
  async copyDatabase(strategy: 'file_copy' | 'wal_log'): Promise<{ ms: number; bytes: number }> {
    const said = await this.#psqlIn(
      'template1',
      ...['-A', '-t', '-c', '\\timing on'],
      ...['-c', `CREATE DATABASE copy TEMPLATE postgres STRATEGY ${strategy}`],
      ...['-c', "SELECT 'bytes ' || pg_database_size('copy')", '-c', 'DROP DATABASE copy'],
    );
    const ms = Number(/^Time: ([\d.]+) ms/m.exec(said)?.[1] ?? Number.NaN);
    return { ms, bytes: Number(/^bytes (\d+)/m.exec(said)?.[1] ?? Number.NaN) };
  }

  /**
   * Runs prepared transactions with `clients` concurrent clients.
   *
   * @throws {Error} when a transaction failed
   */
  pgbench(script: PgbenchScript, clients: number, seconds: number): Promise<Load> {
    return this.#run(script, clients, ['-T', String(seconds)]);
  }

  async #run(script: PgbenchScript, clients: number, length: readonly string[]): Promise<Load> {
    this.#runs += 1;
    const file = join(this.#folder, 'scripts', `${script}.sql`);
    // pgbench has variables for numbers only, so the text is substituted here.
    writeFileSync(
      file,
      readFileSync(join(scripts, `${script}.sql`), 'utf8').replaceAll('BODY_TEXT', bodyText),
    );
    const output = await runPinned(GENERATOR_CORE, requiredProgram('pgbench', 'postgresql'), [
      ...['-h', '127.0.0.1', '-p', String(this.#port), '-U', 'bench', '--no-vacuum', '-M', 'prepared'],
      ...['-c', String(clients), '-j', '1', ...length, '-f', file],
      ...['-D', `articles=${this.#articles}`, '-D', `run=${this.#runs}`, '-D', 'count=0', 'postgres'],
    ]);
    const requests = Number(/^number of transactions actually processed: (\d+)/m.exec(output)?.[1]);
    const failed = Number(/^number of failed transactions: (\d+)/m.exec(output)?.[1]);
    const perSecond = Number(/^tps = ([\d.]+) \(without initial connection time\)/m.exec(output)?.[1]);
    if (!(requests > 0) || failed !== 0 || !(perSecond > 0)) throw new Error(`pgbench ${script}:\n${output}`);
    return { requests, perSecond };
  }

  /** Stops the server. The database cluster cannot be used again. */
  async stop(): Promise<void> {
    await endChild(this.#child, 'SIGINT');
  }

  #psql(...args: string[]): Promise<string> {
    return this.#psqlIn('postgres', ...args);
  }

  #psqlIn(database: string, ...args: string[]): Promise<string> {
    return runPinned(GENERATOR_CORE, requiredProgram('psql', 'postgresql-client'), [
      ...['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-h', '127.0.0.1', '-p', String(this.#port), '-U', 'bench'],
      ...args,
      database,
    ]);
  }

  async #ready(): Promise<void> {
    const isReady = requiredProgram('pg_isready', 'postgresql-client');
    const args = ['-q', '-h', '127.0.0.1', '-p', String(this.#port)];
    for (let waited = 0; spawnSync(isReady, args).status !== 0; waited += READY_POLL_MS) {
      if (waited > READY_WAIT_MS || this.#child.exitCode !== null)
        throw new Error('PostgreSQL did not start');
      await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
    }
  }
}

/** PostgreSQL refuses to run as root; the Debian package has a user for it. */
function unprivilegedUser(): User | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const ask = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: ask('-u'), gid: ask('-g') };
}
