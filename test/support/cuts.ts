import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CrashPointName } from '#runtime/commit/crash-point.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';
import { until } from './until.ts';

/** What is left of a member that dies at a certain moment of a request. */
export interface Cut {
  /** Crash points and their passes from the request on, `mid-apply:2`: several where the files are the same. */
  readonly points: string[];
  /** The status of the answer, when it was heard before; otherwise 0. */
  readonly status: number;
  /** A copy of the folder, which belongs to whoever asked for it. */
  readonly dataDir: string;
}

/** A request that is cut. */
export interface CutRequest {
  readonly token: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Every commit passes these. */
const commitPoints: readonly CrashPointName[] = [
  'before-append',
  'after-append-sent',
  'after-durable',
  'before-reply',
  'before-apply',
  'mid-apply',
  'after-apply',
];

/** The moment at which the answer was heard. */
const ANSWERED = 'answered:1';

/** Passes that are looked at: later ones are between the same two steps of further changes. */
const PASSES_MAX = 4;

/** For a process that hangs, in milliseconds: on a busy machine a flush takes seconds. */
const WAIT_MS_MAX = 300_000;

const stopAtPoints = pathToFileURL(join(import.meta.dirname, 'stop-at-points.ts'));

/**
 * Sends a request to a process, and copies its folder at every pass of every crash point from then until it has drained.
 * It stands still meanwhile, with all its threads, so a copy is what a kill would have left: one process is enough for
 * all points.
 *
 * @param dataDir is removed
 * @param points those it has to pass besides those of a commit
 * @returns in the order of the moments, and the last one is after the answer
 * @throws {Error} when it passed fewer
 */
export async function cutsOf(
  dataDir: string,
  request: CutRequest,
  points: readonly CrashPointName[] = [],
): Promise<readonly Cut[]> {
  const config = `${dataDir}.toml`;
  // It drains for as long as the copies take.
  writeFileSync(config, '[server]\nshutdown_grace_ms = 600_000\n');
  const options = `${process.env.NODE_OPTIONS ?? ''} --import=${stopAtPoints.href}`;
  const server = await startServerProcess({ dataDir, env: { NODE_OPTIONS: options, SVC_CONFIG: config } });
  let cuts: readonly Cut[];
  try {
    cuts = await cutsOfProcess(server, request);
  } finally {
    await server.close();
    for (const path of [config, dataDir]) rmSync(path, { recursive: true, force: true });
  }
  const passed = cuts.flatMap((cut) => cut.points);
  const missing = [...commitPoints, ...points].filter((name) => !passed.includes(`${name}:1`));
  if (missing.length > 0) throw new Error(`${missing.join(', ')} not passed, only ${passed.join(', ')}`);
  return cuts;
}

async function cutsOfProcess(server: ServerProcess, request: CutRequest): Promise<readonly Cut[]> {
  const { body, method, path, token } = request;
  const cuts: Cut[] = [];
  let last: string | undefined;
  let status = 0;
  let isAnswered = false;
  let isEnded = false;
  let stops = 0;
  const next = (): string | undefined => [...server.stderr.matchAll(/^at (\S+)$/gm)][stops]?.[1];

  /** Copies at each stop until something is so. */
  const cutUntil = async (isSo: () => boolean): Promise<void> => {
    for (;;) {
      await until(() => isSo() || next() !== undefined, 'the next stop', WAIT_MS_MAX);
      const point = next();
      if (point === undefined) return;
      stops += 1;
      await until(() => standsStill(server.pid), `the process stops at ${point}`, WAIT_MS_MAX);
      // The answer may have been sent before, and not been read here.
      await new Promise((resolve) => setImmediate(resolve));
      take(point);
      process.kill(server.pid, 'SIGCONT');
      if (point === ANSWERED) return;
    }
  };
  const take = (point: string): void => {
    if (Number(point.split(':')[1]) > PASSES_MAX) return;
    const before = cuts.at(-1);
    const files = `${status} ${hashOf(server.dataDir)}`;
    if (files === last) before?.points.push(point);
    else cuts.push({ points: [point], status, dataDir: copyOf(server.dataDir) });
    last = files;
  };

  void server.exited.then(() => {
    isEnded = true;
  });
  process.kill(server.pid, 'SIGUSR2');
  await until(() => server.stderr.includes('armed\n'), 'the points are armed', WAIT_MS_MAX);
  void server
    .request(method, path, { token, timeoutMs: WAIT_MS_MAX, ...(body === undefined ? {} : { body }) })
    .then(
      (answer) => {
        status = answer.status;
      },
      () => undefined,
    )
    .then(() => {
      isAnswered = true;
    });
  await cutUntil(() => isAnswered);
  process.kill(server.pid, 'SIGUSR2');
  await cutUntil(() => isEnded);
  process.kill(server.pid, 'SIGTERM');
  await cutUntil(() => isEnded);
  return cuts;
}

/** Whether no thread of a process runs. */
export function standsStill(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) =>
    /\) T /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')),
  );
}

/** The same for folders with the same files. */
function hashOf(folder: string): string {
  const hash = createHash('sha256');
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    hash.update(`${path}\n`);
    if (entry.isFile()) hash.update(readFileSync(path));
  }
  return hash.digest('hex');
}

/** @returns a copy of a folder, which belongs to whoever asked for it */
export function copyOf(folder: string): string {
  const copy = mkdtempSync(join(tmpdir(), 'grove-test-'));
  cpSync(folder, copy, { recursive: true });
  return copy;
}
