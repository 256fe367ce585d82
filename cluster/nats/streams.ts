import {
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  jetstreamManager,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import { OptionError } from '#runtime/config/option.ts';
import { NotThereYetError } from './not-there-yet.ts';
import type { Subjects } from './subjects.ts';

/** Time the servers have to make a stream, in milliseconds: they may be electing a leader. */
const CREATE_MS_MAX = 30_000;

/** Time between two attempts, in milliseconds. */
const RETRY_MS = 250;

/** Time one request may take, in milliseconds. */
const REQUEST_MS_MAX = 5000;

/**
 * Time in which a name or subject that is taken may turn out to be this very stream, in milliseconds: members that
 * start together all make it, and servers refuse all but one, some before the stream can be found.
 */
const RACE_MS_MAX = 5_000;

/** Error codes of JetStream. */
const NAME_IN_USE = 10_058;
const SUBJECTS_OVERLAP = 10_065;
const NO_PEERS = 10_005;
const NO_RESOURCES = 10_023;
const NOT_FOR_ACCOUNT = 10_039;
const NO_STORAGE = 10_047;
const NO_CLUSTER = 10_074;
const NOT_ENABLED = 10_076;

/** How the commit streams are made. */
export interface CommitStreamSettings {
  /** Servers that hold each; 3, or 5; 1 in tests only. */
  readonly replicas: number;
  /** Size a log may reach, in bytes; far above where the product itself refuses writes. The servers reserve it. */
  readonly bytesMax: number;
  /** Only servers with all of these tags hold them. */
  readonly placementTags?: readonly string[];
}

/**
 * The settings of a commit stream. Whatever could remove, replace, copy or reorder a message is off; what the log is
 * fenced by is the sequence of the stream.
 *
 * @see Reliability: NATS settings and versions
 */
function commitStreamConfig(
  subjects: Subjects,
  partition: number,
  settings: CommitStreamSettings,
): StreamConfig {
  const { replicas, bytesMax, placementTags } = settings;
  return {
    name: subjects.logStream(partition),
    subjects: [subjects.log(partition)],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    num_replicas: replicas,
    discard: DiscardPolicy.New,
    max_bytes: bytesMax,
    max_msgs: -1,
    max_msgs_per_subject: -1,
    max_age: 0,
    max_msg_size: -1,
    max_consumers: -1,
    duplicate_window: 120_000_000_000,
    no_ack: false,
    sealed: false,
    deny_delete: true,
    deny_purge: false,
    allow_rollup_hdrs: false,
    allow_direct: false,
    mirror_direct: false,
    ...(placementTags === undefined ? {} : { placement: { cluster: '', tags: [...placementTags] } }),
  } as StreamConfig;
}

/** Settings a server must not have added: they would write into the log, or elsewhere. */
const unwanted = ['mirror', 'sources', 'republish', 'subject_transform', 'template_owner'] as const;

/** Of these the server's own value may differ from ours without harm. */
const lenient: ReadonlySet<string> = new Set(['placement', 'max_bytes', 'num_replicas']);

/**
 * Compares what a server says a stream is with what it is to be: old servers leave out silently what they do not know.
 *
 * @returns one sentence for each difference that matters
 */
function differences(wanted: StreamConfig, found: StreamConfig): string[] {
  const problems: string[] = [];
  const shown = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
  const differs = (key: string, want: unknown): void => {
    problems.push(
      `stream ${wanted.name} has ${key} ${shown(found[key as keyof StreamConfig])}, and needs ${shown(want)}`,
    );
  };
  for (const [key, want] of Object.entries(wanted)) {
    const have = found[key as keyof StreamConfig];
    // A setting that is off may be left out.
    const isSame = shown(have) === shown(want) || (have === undefined && (want === false || want === 0));
    if (!isSame && !lenient.has(key)) differs(key, want);
  }
  if (found.max_bytes !== -1 && found.max_bytes < wanted.max_bytes) differs('max_bytes', wanted.max_bytes);
  if (found.num_replicas < wanted.num_replicas) differs('num_replicas', wanted.num_replicas);
  for (const key of unwanted) {
    const have = (found as unknown as Record<string, unknown>)[key];
    if (have !== undefined && have !== '')
      problems.push(`stream ${wanted.name} has ${key}, which a log must not have`);
  }
  return problems;
}

/**
 * Makes the commit stream of a partition, or finds it, and verifies that it is what it has to be.
 *
 * @throws {OptionError} when it has other settings, or the servers refuse to make it
 * @throws {NotThereYetError} when the servers cannot make it at present
 */
export async function ensureCommitStream(
  connection: NatsConnection,
  subjects: Subjects,
  partition: number,
  settings: CommitStreamSettings,
  clock: Clock,
): Promise<void> {
  await ensureStream(connection, commitStreamConfig(subjects, partition, settings), clock);
}

/**
 * The partitions whose commit streams are gone although others have records: all of them are made before the first
 * record is written to any. A stream made anew would be taken for a partition that never had anything, by a member that
 * has nothing of it.
 *
 * @throws {NotThereYetError} when the servers cannot say
 */
export async function lostCommitStreams(
  connection: NatsConnection,
  subjects: Subjects,
  partitions: number,
): Promise<readonly number[]> {
  const manager = await jetstreamManager(connection, { timeout: REQUEST_MS_MAX, checkAPI: false });
  const lost: number[] = [];
  let hasRecords = false;
  for (let partition = 0; partition < partitions; partition += 1) {
    try {
      const { state } = await manager.streams.info(subjects.logStream(partition));
      hasRecords ||= state.last_seq > 0;
    } catch (cause) {
      const isMissing = cause instanceof JetStreamApiError && cause.code === JetStreamApiCodes.StreamNotFound;
      // Whoever makes them says what is wrong for good.
      if (!isMissing && cause instanceof JetStreamApiError && !isPassing(cause)) return [];
      if (!isMissing) throw new NotThereYetError('the commit logs cannot be asked for', { cause });
      lost.push(partition);
    }
  }
  return hasRecords ? lost : [];
}

/**
 * Makes a stream, or finds it, and verifies that it is what it has to be.
 *
 * @returns whether this connection made it; of several that ask at once one did
 * @throws {OptionError} when it has other settings, or the servers refuse to make it
 * @throws {NotThereYetError} when the servers cannot make it at present
 */
export async function ensureStream(
  connection: NatsConnection,
  wanted: StreamConfig,
  clock: Clock,
): Promise<boolean> {
  const manager = await jetstreamManager(connection, { timeout: REQUEST_MS_MAX, checkAPI: false });
  const startedMs = clock.monotonicMs();
  const untilMs = startedMs + CREATE_MS_MAX;
  for (;;) {
    try {
      const maker = makerOf(connection);
      const found = await findOrMake(manager, wanted, maker);
      const problems = differences(wanted, found);
      if (problems.length > 0) throw new OptionError(problems);
      return found.description === maker;
    } catch (error) {
      if (error instanceof OptionError) throw error;
      // That another one makes it is told before it can be found.
      const isBeingMade = error instanceof JetStreamApiError && error.code === NAME_IN_USE;
      const mayBeMade = isBeingMade || (isTaken(error) && clock.monotonicMs() < startedMs + RACE_MS_MAX);
      const isLasting = error instanceof JetStreamApiError && !isPassing(error) && !mayBeMade;
      const what = `stream ${wanted.name} cannot be made: ${(error as Error).message}${remedyOf(error)}`;
      if (isLasting) throw new OptionError([what]);
      if (clock.monotonicMs() >= untilMs) throw new NotThereYetError(what, { cause: error });
      await sleep(clock, RETRY_MS);
    }
  }
}

/** Tells a connection from every other one there ever was. */
function makerOf({ info }: NatsConnection): string {
  return `made by ${info?.server_id}/${info?.client_id}`;
}

/**
 * @param maker stands in the description. Of several equal requests at once servers grant each, and remember different
 *   ones as the moment the stream was made: which is told changes when a server is started again, and that moment is
 *   what a log is known by. Of requests that differ one is granted.
 */
async function findOrMake(
  manager: JetStreamManager,
  wanted: StreamConfig,
  maker: string,
): Promise<StreamConfig> {
  try {
    return (await manager.streams.info(wanted.name)).config;
  } catch (error) {
    if (!(error instanceof JetStreamApiError) || error.code !== JetStreamApiCodes.StreamNotFound) throw error;
    return (await manager.streams.add({ ...wanted, description: maker })).config;
  }
}

/** Whether a refusal may be for now only: no leader, or servers that have not found each other yet. */
function isPassing({ status, code }: JetStreamApiError): boolean {
  return code === NO_PEERS || (status === 503 && code !== NO_RESOURCES && code !== NO_STORAGE);
}

function isTaken(error: unknown): boolean {
  return (
    error instanceof JetStreamApiError && (error.code === NAME_IN_USE || error.code === SUBJECTS_OVERLAP)
  );
}

function remedyOf(error: unknown): string {
  if (!(error instanceof JetStreamApiError)) return '';
  switch (error.code) {
    case NO_PEERS:
    case NO_CLUSTER:
      return '; run as many NATS servers with JetStream as [cluster] replicas says';
    case NO_RESOURCES:
    case NO_STORAGE:
      return '; raise max_file_store of the NATS servers';
    case NOT_FOR_ACCOUNT:
      return '; enable JetStream for the account of Grove';
    case NOT_ENABLED:
      return '; enable JetStream in the configuration of the NATS servers';
    default:
      return '';
  }
}
