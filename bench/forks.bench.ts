import { branchesUrl, nodesUrlOf } from './support/corpus.ts';
import { diskBytesOf, settleDisk } from './support/disk.ts';
import { type Latencies, nowMs, PacedWrites, type Span } from './support/paced-writes.ts';
import { percentile } from './support/percentile.ts';
import { PostgresServer } from './support/postgres-server.ts';
import type { Plan, Question } from './support/question.ts';
import type { Answer } from './support/answer.ts';
import { median, undisturbed } from './support/rounds.ts';
import { type LoadedGrove, progress, type Stage } from './support/stage.ts';
import { megabytes, milliseconds, whole } from './support/table.ts';

/** Concurrent writers to the source. */
const WRITERS = 8;
const WRITES_PER_SECOND = 1_000;

/** Warm-up time of the writers. */
const WARM_UP_MS = 500;
/** Pause between two forks. */
const PAUSE_MS = 250;
/** Writes this long after the answer still count for a fork, because the backlog is written then. */
const AFTERMATH_MS = 50;

/** A fork without concurrent writes. */
interface Quiet {
  readonly forkMs: number;
  readonly forkBytes: number;
  readonly firstReadMs: number;
  readonly removalMs: number;
}

/** Forks of a branch with concurrent writes. */
interface Busy {
  readonly forkMs: readonly number[];
  /** Latencies of writes in milliseconds, ascending: alone, during forks, during the removal of forks. */
  readonly alone: readonly number[];
  readonly forking: readonly number[];
  readonly removing: readonly number[];
}

/** Results at one size. */
interface SizeReport {
  readonly size: number;
  readonly sourceBytes: number;
  readonly quiet: readonly Quiet[];
  readonly busy: readonly Busy[];
  readonly postgres: Record<'file_copy' | 'wal_log', readonly number[]>;
  readonly postgresBytes: number;
}

/** How long does a fork take, what does it cost, and how does it affect concurrent writes to the source? */
export const forks: Question = {
  name: 'forks',
  title: 'Forks of a branch',
  async measure(plan, stage) {
    const reports: SizeReport[] = [];
    for (const size of plan.sizes) {
      progress(`forking ${whole(size)} nodes`);
      const { articles, ...quiet } = await measureQuiet(plan, stage, size);
      progress(`forking ${whole(size)} nodes that are written to`);
      const busy = await measureBusy(plan, stage, size);
      progress(`copying a PostgreSQL database of ${whole(articles)} rows`);
      reports.push({ size, ...quiet, busy, ...(await measurePostgres(plan, stage, articles)) });
    }
    return describe(reports);
  },
};

async function measureQuiet(
  plan: Plan,
  stage: Stage,
  size: number,
): Promise<Pick<SizeReport, 'sourceBytes' | 'quiet'> & { readonly articles: number }> {
  const grove = await stage.sizedGrove(size);
  const sourceBytes = diskBytesOf(grove.server.dataDir);
  const fork = async (): Promise<Quiet> => {
    const before = diskBytesOf(grove.server.dataDir);
    const made = await Fork.make(grove);
    const forkBytes = diskBytesOf(grove.server.dataDir) - before;
    const firstReadMs = await made.read();
    const removal = await made.remove();
    return { forkMs: made.ms, forkBytes, firstReadMs, removalMs: removal.toMs - removal.fromMs };
  };
  await fork();
  const quiet: Quiet[] = [];
  for (let round = 0; round < plan.rounds; round++) quiet.push(await undisturbed(plan.disturbance, fork));
  await stage.discard(grove);
  return { articles: grove.articles, sourceBytes, quiet };
}

/** Writes make the store grow, so each round uses a new one. */
async function measureBusy(plan: Plan, stage: Stage, size: number): Promise<Busy[]> {
  const rounds: Busy[] = [];
  for (let round = 0; round < plan.rounds; round++) {
    const busy = await undisturbed(plan.disturbance, async () => {
      const grove = await stage.sizedGrove(size);
      const seen = await underWrites(grove, plan.seconds * 1000);
      await stage.discard(grove);
      return seen;
    });
    rounds.push(busy);
  }
  return rounds;
}

/** Measures writes alone, then during successive forks, then during the removal of these forks. */
async function underWrites(grove: LoadedGrove, lengthMs: number): Promise<Busy> {
  await Fork.make(grove).then((fork) => fork.remove());
  const updates = new PacedWrites(grove, 'update', WRITERS, WRITES_PER_SECOND);
  await updates.begun();
  await pause(WARM_UP_MS);
  const alone = { fromMs: nowMs(), toMs: nowMs() + lengthMs };
  await pause(lengthMs);
  const made: Fork[] = [];
  for (const untilMs = nowMs() + lengthMs; made.length === 0 || nowMs() < untilMs; await pause(PAUSE_MS)) {
    made.push(await Fork.make(grove));
  }
  const removals: Span[] = [];
  for (const fork of made) removals.push(await fork.remove());
  const latencies: Latencies = await updates.end();
  const forking = made.map(({ span: { fromMs, toMs } }) => ({ fromMs, toMs: toMs + AFTERMATH_MS }));
  return {
    forkMs: made.map(({ ms }) => ms),
    alone: latencies.during([alone]),
    forking: latencies.during(forking),
    removing: latencies.during(removals),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

let forksMade = 0;

/** A fork of the main branch. */
class Fork {
  readonly span: Span;
  readonly #grove: LoadedGrove;
  readonly #name: string;

  private constructor(grove: LoadedGrove, name: string, span: Span) {
    this.#grove = grove;
    this.#name = name;
    this.span = span;
  }

  static async make(grove: LoadedGrove): Promise<Fork> {
    forksMade += 1;
    const name = `fork-${forksMade}`;
    const fromMs = nowMs();
    await grove.server.json('POST', branchesUrl, { name, upstream_branch: 'main' });
    return new Fork(grove, name, { fromMs, toMs: nowMs() });
  }

  get ms(): number {
    return this.span.toMs - this.span.fromMs;
  }

  /** Reads a node of the fork. @returns the latency in milliseconds */
  async read(): Promise<number> {
    const { ms } = await this.#grove.server.timed('GET', `${nodesUrlOf(this.#name)}/f-0/n-0`);
    return ms;
  }

  /** Removes the fork. Resolves when its space is free. */
  async remove(): Promise<Span> {
    const fromMs = nowMs();
    await this.#grove.server.json('DELETE', `${branchesUrl}/${this.#name}`);
    return { fromMs, toMs: nowMs() };
  }
}

/** The closest operation of PostgreSQL: a copy of the whole database without open connections. */
async function measurePostgres(
  { rounds }: Plan,
  stage: Stage,
  articles: number,
): Promise<Pick<SizeReport, 'postgres' | 'postgresBytes'>> {
  const server = await PostgresServer.start(stage.folder);
  try {
    await server.load(articles);
    const postgres = { file_copy: [] as number[], wal_log: [] as number[] };
    let postgresBytes = 0;
    for (let round = 0; round < rounds; round++) {
      for (const strategy of ['file_copy', 'wal_log'] as const) {
        settleDisk(stage.folder);
        const { bytes, ms } = await server.copyDatabase(strategy);
        postgres[strategy].push(ms);
        postgresBytes = bytes;
      }
    }
    return { postgres, postgresBytes };
  } finally {
    await server.stop();
  }
}

function describe(reports: readonly SizeReport[]): Answer {
  const row = (label: string, show: (report: SizeReport) => string): string[] => [
    label,
    ...reports.map(show),
  ];
  const latency =
    (figure: (busy: Busy) => readonly number[]) =>
    ({ busy }: SizeReport): string => {
      const rising = busy.flatMap(figure).sort((a, b) => a - b);
      return `${percentile(rising, 0.5).toFixed(2)} / ${percentile(rising, 0.99).toFixed(2)}`;
    };
  return {
    columns: ['', ...reports.map(({ size }) => whole(size))],
    rows: [
      row('fork', ({ quiet }) => milliseconds(quiet.map(({ forkMs }) => forkMs))),
      row('fork while others write', ({ busy }) => milliseconds(busy.flatMap(({ forkMs }) => forkMs))),
      row('first read of a fork', ({ quiet }) => milliseconds(quiet.map(({ firstReadMs }) => firstReadMs))),
      row('removal of a fork', ({ quiet }) => milliseconds(quiet.map(({ removalMs }) => removalMs))),
      row('disk of the source, journal included', ({ sourceBytes }) => megabytes(sourceBytes)),
      row('disk of a fork', ({ quiet }) => megabytes(median(quiet.map(({ forkBytes }) => forkBytes)))),
      row(
        'p50 / p99 ms of a write, nothing else going on',
        latency(({ alone }) => alone),
      ),
      row(
        'p50 / p99 ms of a write to the source of a fork',
        latency(({ forking }) => forking),
      ),
      row(
        'p50 / p99 ms of a write while forks are removed',
        latency(({ removing }) => removing),
      ),
      row('PostgreSQL, file_copy', ({ postgres }) => milliseconds(postgres.file_copy)),
      row('PostgreSQL, wal_log', ({ postgres }) => milliseconds(postgres.wal_log)),
      row('disk of a PostgreSQL copy', ({ postgresBytes }) => megabytes(postgresBytes)),
    ],
    notes: [
      `Every node was made by a request of its own. A fork is timed over HTTP, from the request to the answer; then it can be read and written, and is on disk. Its disk is what it takes besides the source. "While others write": ${WRITERS} connections update any article of the source, ${whole(WRITES_PER_SECOND)} times a second; the time of a write counts from when it was due, so that one that would have come while the server stood still is not left out. A write belongs to a fork when it waited between the request and ${AFTERMATH_MS} ms after the answer. Forks follow each other with ${PAUSE_MS} ms between them.`,
      'PostgreSQL has no forks. `CREATE DATABASE … TEMPLATE … STRATEGY file_copy` and `wal_log` copy a whole database with the same rows (and no history), and refuse to while anybody is connected to it: nobody writes meanwhile.',
    ],
  };
}
