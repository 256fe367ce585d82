import { join } from 'node:path';
import { runPinned } from './child.ts';
import { bodyText, nodesUrl } from './corpus.ts';
import { GENERATOR_CORE } from './machine.ts';
import { requiredProgram } from './programs.ts';
import type { Load } from './rounds.ts';

const scripts = join(import.meta.dirname, '..', 'wrk');

/** A script of bench/wrk. */
export type WrkScript =
  | 'read-path'
  | 'read-id'
  | 'list-page'
  | 'scan'
  | 'sql-path'
  | 'sql-id'
  | 'create'
  | 'update'
  | 'lock'
  | 'claim'
  | 'etcd-lock';

/** Target of a script that uses articles. */
export interface WrkTarget {
  readonly script: WrkScript;
  readonly port: number;
  readonly token: string;
  /** URL of the nodes. Default: the head of the main branch. */
  readonly nodesUrl?: string;
  /** Number of articles. */
  readonly articles: number;
  readonly idsFile: string;
  /** Sent with every request, by name. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Number of runs, part of the names of created articles. */
let runs = 0;

/**
 * Sends requests for articles over `connections` concurrent connections.
 *
 * @throws {Error} when an answer was not 2xx or a connection broke
 */
export function wrk(target: WrkTarget, connections: number, seconds: number): Promise<Load> {
  return runScript(target.script, target.port, connections, seconds, {
    BENCH_TOKEN: target.token,
    BENCH_NODES_URL: target.nodesUrl ?? nodesUrl,
    BENCH_ARTICLES: String(target.articles),
    BENCH_IDS_FILE: target.idsFile,
    BENCH_BODY_TEXT: bodyText,
    BENCH_HEADERS: Object.entries(target.headers ?? {})
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join(''),
  });
}

/**
 * Sends the requests of a script over `connections` concurrent connections.
 *
 * @param settings environment variables the script reads
 * @throws {Error} when an answer was above 399 or a connection broke
 */
export async function runScript(
  script: WrkScript,
  port: number,
  connections: number,
  seconds: number,
  settings: Readonly<Record<string, string>>,
): Promise<Load> {
  runs += 1;
  const output = await runPinned(
    GENERATOR_CORE,
    requiredProgram('wrk'),
    [
      '--threads=1',
      `--connections=${connections}`,
      `--duration=${seconds}s`,
      '--timeout=20s',
      `--script=${join(scripts, `${script}.lua`)}`,
      `http://127.0.0.1:${port}/`,
    ],
    {
      BENCH_WRK_DIR: scripts,
      ...settings,
      BENCH_RUN: `${process.pid}-${runs}`,
      BENCH_SEED: String(runs),
    },
  );
  const result = JSON.parse(/^RESULT (.*)$/m.exec(output)?.[1] ?? '{}') as {
    requests: number;
    durationUs: number;
    failed: number;
    broken: number;
    p50Us: number;
    p99Us: number;
  };
  if (!(result.requests > 0) || result.failed > 0 || result.broken > 0) {
    throw new Error(
      `wrk ${script} with ${connections} connections: not every request was answered well\n${output}`,
    );
  }
  return {
    requests: result.requests,
    perSecond: (result.requests / result.durationUs) * 1e6,
    p50Ms: result.p50Us / 1000,
    p99Ms: result.p99Us / 1000,
  };
}
