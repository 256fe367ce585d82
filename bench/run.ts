/**
 * Measures Grove and its peers and prints the tables. A full run also writes them to docs/benchmarks.md.
 *
 * Run: npm run bench, npm run bench -- reads creates, npm run bench -- --help
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { clusterLocks } from './cluster-locks.bench.ts';
import { clusterWrites } from './cluster-writes.bench.ts';
import { creates } from './creates.bench.ts';
import { failover } from './failover.bench.ts';
import { fanOut } from './fan-out.bench.ts';
import { forks } from './forks.bench.ts';
import { forwarding } from './forwarding.bench.ts';
import { growth } from './growth.bench.ts';
import { history } from './history.bench.ts';
import { listings } from './listings.bench.ts';
import { merges } from './merges.bench.ts';
import { locks } from './locks.bench.ts';
import { permissions } from './permissions.bench.ts';
import { readersAndWriters } from './readers-and-writers.bench.ts';
import { reads } from './reads.bench.ts';
import { scans } from './scans.bench.ts';
import { sql } from './sql.bench.ts';
import { storage } from './storage.bench.ts';
import { killChildren } from './support/child.ts';
import { Disturbance } from './support/disturbance.ts';
import { describeMachine, leaveServerCore } from './support/machine.ts';
import { requiredProgram, versionOf } from './support/programs.ts';
import type { Plan, Question } from './support/question.ts';
import { progress, Stage } from './support/stage.ts';
import { toMarkdown } from './support/table.ts';
import { updates } from './updates.bench.ts';

const page = join(import.meta.dirname, '..', 'docs', 'benchmarks.md');

/** In the order of the run. Creates make the shared store grow, so they come last of the questions that share it. */
const questions: readonly Question[] = [
  reads,
  listings,
  permissions,
  updates,
  creates,
  growth,
  forks,
  merges,
  history,
  readersAndWriters,
  scans,
  sql,
  storage,
  locks,
  clusterWrites,
  forwarding,
  failover,
  fanOut,
  clusterLocks,
];

const fullPlan: Omit<Plan, 'disturbance'> = {
  rounds: 5,
  seconds: 2,
  articles: 100_000,
  sizes: [10_000, 100_000, 1_000_000],
  changes: [10, 100, 1_000, 10_000],
  versions: 10,
  connections: [1, 8, 64],
};

/** Long enough for a test run on the same machine to end. */
const PATIENCE_SECONDS = 60;

/** Verifies that every benchmark runs. Its numbers are not meaningful. */
const quickPlan: Omit<Plan, 'disturbance'> = {
  rounds: 1,
  seconds: 1,
  articles: 2_000,
  sizes: [1_000, 30_000, 60_000],
  changes: [10, 100],
  versions: 3,
  connections: [1, 64],
};

const usage = `npm run bench [-- [question …] [option …]]

Questions: ${questions.map(({ name }) => name).join(', ')}; all of them by default.

  --quick            a small store and one short round: shows that everything works, writes nothing
  --rounds <n>       measurements of each figure, default ${fullPlan.rounds}
  --seconds <n>      length of one measurement, default ${fullPlan.seconds}
  --patience <s>     seconds a question may wait, and measure again, while others use the machine, default ${PATIENCE_SECONDS}
  --print-only       leaves docs/benchmarks.md as it is
  --profile <dir>    writes a processor profile of every member there; slows it down, so nothing is written
  --folder <dir>     where the stores are made, default ${tmpdir()}; it has to be on a local disk
  --help             this text

Needs two cores, taskset, wrk and PostgreSQL with pgbench (Debian: util-linux wrk postgresql postgresql-contrib), for
locks Redis and etcd as well (redis-server redis-tools etcd-server), for clusters NATS, HAProxy and etcd (nats-server
haproxy etcd-server; NATS_SERVER_BIN names another nats-server);
as root on Debian it installs what is missing.`;

interface Arguments {
  readonly selected: readonly Question[];
  readonly plan: Omit<Plan, 'disturbance'>;
  /** Longest time a question waits for other programs to finish, in milliseconds. */
  readonly patienceMs: number;
  readonly folder: string;
  readonly profileDir: string | undefined;
  readonly writes: boolean;
  readonly command: string;
}

function readArguments(): Arguments | undefined {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      patience: { type: 'string' },
      'print-only': { type: 'boolean', default: false },
      profile: { type: 'string' },
      folder: { type: 'string', default: tmpdir() },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const unknown = positionals.filter((name) => !questions.some((question) => question.name === name));
  if (unknown.length > 0) throw new Error(`there is no question named ${unknown.join(', ')}\n\n${usage}`);
  const plan = values.quick ? quickPlan : fullPlan;
  return {
    selected: questions.filter(({ name }) => positionals.length === 0 || positionals.includes(name)),
    plan: {
      ...plan,
      rounds: positive('rounds', values.rounds) ?? plan.rounds,
      seconds: positive('seconds', values.seconds) ?? plan.seconds,
    },
    patienceMs: values.quick ? 0 : (positive('patience', values.patience) ?? PATIENCE_SECONDS) * 1000,
    folder: values.folder,
    profileDir: values.profile,
    writes: !values.quick && !values['print-only'] && values.profile === undefined,
    command: ['npm run bench', ...(process.argv.length > 2 ? ['--', ...process.argv.slice(2)] : [])].join(
      ' ',
    ),
  };
}

function positive(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new Error(`--${name} takes a whole number from 1`);
  return value;
}

/**
 * Replaces a section between its marks in the page, so that a run of some questions keeps the sections of the others.
 */
function writeSection(name: string, section: string): void {
  const begin = `<!-- bench:${name} -->`;
  const end = `<!-- /bench:${name} -->`;
  const text = readFileSync(page, 'utf8');
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`docs/benchmarks.md has no place ${begin} … ${end}`);
  writeFileSync(page, `${text.slice(0, from + begin.length)}\n\n${section}\n\n${text.slice(to)}`);
}

async function main(): Promise<void> {
  const given = readArguments();
  if (given === undefined) {
    console.log(usage);
    return;
  }
  const versions = `${versionOf(requiredProgram('postgres', 'postgresql'), '--version')}, ${versionOf(requiredProgram('wrk'), '-v').split(' [')[0]}`;
  leaveServerCore();
  const stage = new Stage(given.folder, given.profileDir);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      progress(`ended by ${signal}`);
      killChildren();
      stage.clear();
      process.exit(1);
    });
  }
  try {
    for (const question of given.selected) {
      const machine = describeMachine();
      const date = new Date().toISOString().slice(0, 10);
      progress(`${question.name}: load average ${machine.loadAverage}`);
      const disturbance = new Disturbance(given.patienceMs);
      const answer = await question.measure({ ...given.plan, disturbance }, stage);
      const medians = `median of ${given.plan.rounds} runs of ${given.plan.seconds} s, lowest and highest in brackets`;
      const measured = `Measured ${date} by \`${given.command}\`: ${answer.effort ?? medians}. ${machine.text}; ${versions}; load average at the start ${machine.loadAverage}; ${disturbance.report} runs were taken while other programs worked on the machine.`;
      const section = `${toMarkdown(answer)}\n\n${measured}`;
      console.log(`\n## ${question.title}\n\n${section}\n`);
      if (given.writes) writeSection(question.name, section);
    }
    await stage.close();
  } catch (error) {
    console.error(stage.log);
    throw error;
  } finally {
    killChildren();
    stage.clear();
  }
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
