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
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import { OptionError } from '#runtime/config/option.ts';
import { NotThereYetError } from './not-there-yet.ts';
import type { Subjects } from './subjects.ts';

/** Time within which the servers must create a stream, in milliseconds: they may be electing a leader. */
const CREATE_MS_MAX = 30_000;

/** Time between two attempts, in milliseconds. */
const RETRY_MS = 250;

/** Maximum time of one request, in milliseconds. */
const REQUEST_MS_MAX = 5000;

/**
 * Time within which a name or subject that is taken may turn out to be the wanted stream, in milliseconds. Members that
 * start together all create it; servers refuse all but one request, some of them before the stream can be found.
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

/** Settings of the commit streams. */
export interface CommitStreamSettings {
  /** Replicas of each stream: 3 or 5; 1 only in tests. */
  readonly replicas: number;
  /**
   * Maximum size of a log, in bytes; far above the size at which the product refuses writes. The servers reserve it.
   */
  readonly bytesMax: number;
  /** Only servers with all of these tags store the streams. */
  readonly placementTags?: readonly string[];
}

/**
 * Returns the settings of a commit stream. Every setting that could remove, replace, copy or reorder a message is
 * off. The log is fenced by the sequence of the stream.
 *
 * @see docs/partition-log.md#streams-and-servers
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

/** Settings that a server must not have added: they would write to the log, or copy it elsewhere. */
const unwanted = ['mirror', 'sources', 'republish', 'subject_transform', 'template_owner'] as const;

/** Settings for which a different value of the server does no harm. */
const lenient: ReadonlySet<string> = new Set(['placement', 'max_bytes', 'num_replicas']);

/**
 * Compares the settings of a stream with the wanted ones: old servers silently omit settings that they do not know.
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
    // A setting that is off may be omitted.
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
 * Creates or finds the commit stream of a partition, and verifies its settings.
 *
 * @throws {OptionError} when its settings differ, or the servers refuse to create it
 * @throws {NotThereYetError} when the servers cannot create it at present
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
 * Returns the partitions whose commit streams are missing although others have records. All streams are created
 * before the first record is written to any of them. A member without data would treat a recreated stream as a
 * partition that never had records.
 *
 * @throws {NotThereYetError} when the servers do not answer
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
      // The code that creates the streams reports permanent errors.
      if (!isMissing && cause instanceof JetStreamApiError && !isPassing(cause)) return [];
      if (!isMissing) throw new NotThereYetError('the commit logs cannot be read', { cause });
      lost.push(partition);
    }
  }
  return hasRecords ? lost : [];
}

/**
 * Creates or finds a stream, and verifies its settings.
 *
 * @returns whether this connection created it; of several concurrent requests exactly one did
 * @throws {OptionError} when its settings differ, or the servers refuse to create it
 * @throws {NotThereYetError} when the servers cannot create it at present
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
      // The servers report that another client creates the stream before it can be found.
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

/** Returns a text that identifies this connection among all connections ever made. */
function makerOf({ info }: NatsConnection): string {
  return `made by ${info?.server_id}/${info?.client_id}`;
}

/**
 * @param maker part of the stream's description. Servers grant each of several equal requests, and store different
 *   creation times: the reported time changes when a server is restarted, and it identifies a log.
 *   Of requests that differ, only one is granted.
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

/** Returns whether a refusal may be temporary: no leader, or servers that have not found each other yet. */
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
