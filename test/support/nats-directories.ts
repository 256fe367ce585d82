import type { NatsConnection } from '@nats-io/transport-node';
import { ClusterDirectory } from '#cluster/directory/cluster-directory.ts';
import { MemberRegistry, registryTimes, type RegistryTimes } from '#cluster/directory/member-registry.ts';
import { runningDuplicate } from '#cluster/directory/running-duplicate.ts';
import { NatsHeartbeats } from '#cluster/directory/nats-heartbeats.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { testLink } from './member-seals.ts';

let made = 0;

/** A member as far as the others hear of it. */
export interface DirectoryMember {
  readonly registry: MemberRegistry;
  readonly directory: ClusterDirectory;
  readonly connection: NatsConnection;
  /** What it heard of others coming and going. */
  readonly heard: string[];
}

/** Members that hear each other over real servers. */
export class NatsDirectories {
  readonly members: DirectoryMember[] = [];
  readonly #subjects: Subjects;
  readonly #partitions: number;
  readonly #times: RegistryTimes;

  constructor(partitions: number, times: RegistryTimes = registryTimes) {
    made += 1;
    this.#subjects = new Subjects(`directory-${made}`);
    this.#partitions = partitions;
    this.#times = times;
  }

  /** @param urls of the servers, the one it prefers first */
  async join(id: string, urls: readonly string[]): Promise<DirectoryMember> {
    const connection = await connectToNats({ urls, name: id });
    const heard: string[] = [];
    const registry = new MemberRegistry({
      member: { id, url: `http://${id}` },
      version: '1.2.3',
      formats: { records: 1, calls: 1 },
      partitions: this.#partitions,
      load: () => ({ requestsInFlight: 1, openActors: 2, pendingBytes: 3 }),
      channel: new NatsHeartbeats(testLink(connection, id), this.#subjects, this.#partitions),
      clock: systemClock,
      random: systemRandom,
      observer: {
        joined: (member) => void heard.push(`+${member}`),
        lost: (member, isLeaving) => void heard.push(`${isLeaving ? '-' : '?'}${member}`),
        duplicate: (url) => void heard.push(`!${url}`),
        surplus: () => undefined,
      },
      times: this.#times,
    });
    const directory = new ClusterDirectory(registry, id, this.#partitions);
    registry.start();
    const member = { registry, directory, connection, heard };
    this.members.push(member);
    return member;
  }

  /**
   * Whether a name is that of another member, as one finds out that is about to start.
   *
   * @param heartbeatMs what it takes for the time between two heartbeats
   */
  duplicateOf(member: string, connection: NatsConnection, clock: Clock, heartbeatMs: number) {
    const channel = new NatsHeartbeats(testLink(connection, member), this.#subjects, this.#partitions);
    return runningDuplicate({ channel, member, clock, heartbeatMs, onAlive: () => undefined });
  }

  /** Waits until something is so for a member, looking whenever something changed. */
  async until(member: DirectoryMember, isSo: (directory: ClusterDirectory) => boolean): Promise<void> {
    const { directory } = member;
    if (isSo(directory)) return;
    await new Promise<void>((resolve) => {
      const stop = directory.onChange(() => {
        if (!isSo(directory)) return;
        stop();
        resolve();
      });
    });
  }

  async close(): Promise<void> {
    for (const { registry } of this.members) registry.stop();
    await Promise.all(this.members.map(({ connection }) => connection.close()));
  }
}
