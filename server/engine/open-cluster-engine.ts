import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { queueDefaults } from '#actors/jobs/actor-queue.ts';
import { OptionError } from '#runtime/config/option.ts';
import { registryTimes } from '#cluster/directory/member-registry.ts';
import { runningDuplicate } from '#cluster/directory/running-duplicate.ts';
import { NatsHeartbeats } from '#cluster/directory/nats-heartbeats.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { NatsTickets } from '#cluster/jobs/nats-tickets.ts';
import { ensureCommitStream, lostCommitStreams } from '#cluster/nats/streams.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import { checkServers } from './check-servers.ts';
import { ClusterEngine } from './cluster-engine.ts';
import type { EngineEnvironment, MemberEngine } from './engine.ts';
import { sealedLink } from './member-link.ts';
import { PartitionSnapshots } from './partition-snapshots.ts';
import { StartWaits } from './start-waits.ts';

/** Number of streams that are created concurrently at the first start. */
const STREAMS_AT_ONCE = 8;

/**
 * Connects to NATS and makes this process a member of the cluster there: it follows and owns partitions of the
 * commit log, and sends messages to the owners of the others. It waits for resources that are not available yet.
 *
 * @throws {OptionError} when the NATS servers refuse the credentials, or do not support the configuration
 */
export async function openClusterEngine(environment: EngineEnvironment): Promise<MemberEngine> {
  const { clock, log, options, random } = environment;
  const { cluster, server } = options;
  const subjects = new Subjects(cluster.name);
  const waits = new StartWaits({ clock, random, log });
  const credentials = server.natsCreds && readNamed('SVC_NATS_CREDS', server.natsCreds);
  const authorities = server.natsCa && readNamed('SVC_NATS_CA', server.natsCa);
  const connection = await waits.until('NATS', () =>
    connectToNats({
      urls: server.natsUrl,
      name: server.memberId ?? hostname(),
      // NATS users with permissions are for one member, by its name.
      ...(server.memberId === undefined ? {} : { inbox: subjects.inbox(server.memberId) }),
      ...(credentials === undefined ? {} : { credentials }),
      ...(authorities === undefined ? {} : { authorities }),
    }),
  );
  try {
    const servers = await waits.until('what the NATS servers are', () =>
      checkServers(connection, environment),
    );
    const sealed = sealedLink(connection, subjects, environment);
    await requireOwnName(environment, sealed, subjects);
    const settings = { replicas: cluster.replicas, bytesMax: cluster.logBytesMax };
    const lost = await waits.until('the commit logs', () =>
      lostCommitStreams(connection, subjects, cluster.partitions),
    );
    for (const partition of lost)
      log.error(
        'the commit log of a partition is missing, and is not recreated; restore the stores of NATS',
        {
          partition,
          stream: subjects.logStream(partition),
        },
      );
    for (let first = 0; first < cluster.partitions; first += STREAMS_AT_ONCE) {
      const some = Array.from(
        { length: Math.min(STREAMS_AT_ONCE, cluster.partitions - first) },
        (_, at) => first + at,
      ).filter((partition) => !lost.includes(partition));
      await waits.until('the commit logs', () =>
        Promise.all(some.map((each) => ensureCommitStream(connection, subjects, each, settings, clock))),
      );
      log.info('commit logs are ready', { upTo: first + some.length, of: cluster.partitions });
    }
    const tickets = await waits.until('the stream of tickets for jobs', () =>
      NatsTickets.open({
        sealed,
        subjects,
        settings: { replicas: cluster.replicas, leaseMs: queueDefaults.leaseMs },
        clock,
        report: (problem, cause) => log.warn(problem, { cause }),
      }),
    );
    const snapshots = await waits.until('the store of snapshots', () =>
      PartitionSnapshots.open(environment, sealed, subjects),
    );
    return new ClusterEngine(environment, sealed, subjects, servers, tickets, snapshots, random.bytes(8));
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Reads the file that a variable names. @throws {OptionError} */
function readNamed(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new OptionError([`${variable} names ${file}, which cannot be read: ${(error as Error).message}`]);
  }
}

/**
 * Ends the start of a member whose name is in use, for example after a unit file was copied: the other members would
 * take the two processes for one, and assign partitions that neither can keep. A name made of host and port is
 * unique.
 *
 * @throws {OptionError}
 */
async function requireOwnName(
  { clock, log, options, registryTimes: times = registryTimes }: EngineEnvironment,
  sealed: SealedLink,
  subjects: Subjects,
): Promise<void> {
  const { memberId } = options.server;
  if (memberId === undefined) return;
  const url = await runningDuplicate({
    channel: new NatsHeartbeats(sealed, subjects, options.cluster.partitions),
    member: memberId,
    clock,
    heartbeatMs: times.heartbeatMs,
    onAlive: (heardUrl) =>
      log.warn('waiting for an earlier process of the same member name to end', { url: heardUrl }),
  });
  if (url === undefined) return;
  throw new OptionError([
    `SVC_MEMBER_ID: another member is called ${memberId} and runs at ${url}; give this one a name of its own, or stop the other one`,
  ]);
}
