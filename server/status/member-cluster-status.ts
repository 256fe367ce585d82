import type {
  ClusterOverview,
  ClusterStatus,
  MemberFinding,
  SeenFinding,
  SeenLog,
  SeenMember,
  SeenNatsServer,
  SeenPartition,
} from '#protocols/rest/ports.ts';
import type { MemberState } from '#protocols/rest/management/system.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { inTime } from '#runtime/base/time/within.ts';
import type { Directory, MemberLoad, MemberView } from '#runtime/directory/ports.ts';
import { LocalDirectory } from '#runtime/embedded/local-directory.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { memberName } from '#server/host/member-name.ts';

/**
 * Time for the servers to report the state of the logs, in milliseconds. Operators read the status during an outage,
 * and get it within two seconds.
 */
const LOGS_MS_MAX = 1_500;

/** Progress of the partitions' logs; a single member has none. */
export interface LogProgress {
  /** Newest record of each partition that each member has applied, or written, if it answered in time. */
  readonly positions: ReadonlyMap<string, ReadonlyMap<number, number>>;
  /** Findings of each member about itself, if it answered in time. */
  readonly findings: ReadonlyMap<string, readonly MemberFinding[]>;
  /** Returns why a partition accepts no writes until an operator decides; undefined in normal operation. */
  quarantine(partition: number): string | undefined;
}

/** State of the NATS servers. */
export interface NatsView {
  readonly servers: readonly SeenNatsServer[];
  /** Remarks about their settings, a sentence each. */
  readonly remarks: readonly string[];
}

/** Sources of a cluster's status. */
export interface ClusterStatusSources {
  readonly mode: 'embedded' | 'cluster';
  readonly clock: Clock;
  readonly directory: Directory;
  /** Returns this member's state of its life cycle, which is more current than the directory. */
  readonly state: () => MemberState;
  readonly durability: string;
  /** Reason for this class, for operators. */
  readonly durabilityReason: string;
  /** Number of followers that each partition should have. */
  readonly followersWanted: number;
  /** Returns this member's findings about itself, which need no request. */
  readonly findings: () => readonly MemberFinding[];
  /** Asks the members; must not reject for one that does not answer. */
  readonly progress: () => Promise<LogProgress>;
  /** Asks the servers; must not reject for one that does not answer. */
  readonly nats: () => Promise<NatsView>;
  /** Returns the logs by partition, as far as they are known; absent without logs. */
  readonly logs?: () => Promise<ReadonlyMap<number, SeenLog>>;
  /** Requests snapshots; absent without snapshots. */
  readonly takeSnapshots?: (partition: number | undefined) => void;
}

/** The state of the cluster according to a member's directory and logs. */
export class MemberClusterStatus implements ClusterStatus {
  readonly #sources: ClusterStatusSources;

  constructor(sources: ClusterStatusSources) {
    this.#sources = sources;
  }

  async read(): Promise<ClusterOverview> {
    const { directory, durability, durabilityReason, followersWanted, mode } = this.#sources;
    const { clock, logs: readLogs } = this.#sources;
    const [{ servers, remarks }, progress, logs] = await Promise.all([
      this.#sources.nats(),
      this.#sources.progress(),
      readLogs === undefined ? undefined : inTime(clock, LOGS_MS_MAX, readLogs()),
    ]);
    const members = directory.members();
    return {
      mode,
      durability,
      durabilityReason,
      followersWanted,
      members: members.map((member) => this.#seen(member)),
      partitions: Array.from({ length: directory.partitions }, (_, partition) =>
        this.#partition(partition, members, progress, logs?.get(partition)),
      ),
      natsServers: servers,
      natsRemarks: remarks,
      findings: this.#findings(progress),
    };
  }

  #findings({ findings }: LogProgress): SeenFinding[] {
    const { directory, findings: own } = this.#sources;
    const all = new Map([...findings, [directory.self, own()] as const]);
    return [...all]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .flatMap(([member, found]) => found.map((finding) => ({ ...finding, member })));
  }

  #seen({ id, url, version, isSelf, isSuspect, isDraining, load }: MemberView): SeenMember {
    const state = isSelf ? this.#sources.state() : isSuspect ? 'suspect' : isDraining ? 'draining' : 'ready';
    return { id, url, version, state, isSelf, load };
  }

  takeSnapshots(partition: number | undefined): void {
    const { directory, takeSnapshots } = this.#sources;
    if (takeSnapshots === undefined)
      throw new ServiceError('NOT_FOUND', 'A single member has no snapshots; make a backup instead.');
    if (partition !== undefined && (partition < 0 || partition >= directory.partitions))
      throw invalid(`Partitions are 0 to ${directory.partitions - 1}`, { field: 'partition' });
    takeSnapshots(partition);
  }

  #partition(
    partition: number,
    members: readonly MemberView[],
    progress: LogProgress,
    log: SeenLog | undefined,
  ): SeenPartition {
    const { directory } = this.#sources;
    const known = directory.ownerOf(partition);
    // A silent member may still be the owner, but it answers no request.
    const isSilent = members.some(({ id, isSuspect }) => id === known?.id && isSuspect);
    const owner = isSilent ? undefined : known;
    const told = [...progress.positions.values()].flatMap((positions) => positions.get(partition) ?? []);
    const lastSequence = told.length === 0 ? undefined : Math.max(...told);
    const recordsBehind = (member: string): number | undefined => {
      const position = progress.positions.get(member)?.get(partition);
      return position === undefined || lastSequence === undefined ? undefined : lastSequence - position;
    };
    return {
      partition,
      owner: owner === undefined ? undefined : { member: owner.id, epoch: owner.epoch },
      lastSequence,
      followers: directory.followersOf(partition).map(({ id }) => ({
        member: id,
        isWarm: members.some((member) => member.id === id && member.warm.includes(partition)),
        recordsBehind: recordsBehind(id),
      })),
      quarantine: progress.quarantine(partition),
      log,
    };
  }
}

/** A single member. */
export interface LoneMember {
  readonly clock: Clock;
  /** Its configured name; without one it is named by host and port. */
  readonly name: string | undefined;
  /** Its address; known once it listens. */
  readonly url: () => string;
  readonly version: string;
  readonly state: () => MemberState;
  readonly durability: string;
  readonly findings: () => readonly MemberFinding[];
  readonly load: () => MemberLoad;
}

/** Returns the state of a cluster with one member. */
export function loneClusterStatus({
  clock,
  durability,
  findings,
  load,
  name,
  state,
  url,
  version,
}: LoneMember): ClusterStatus {
  const member = {
    get id() {
      return memberName(name, new URL(url()).port);
    },
    get url() {
      return url();
    },
    version,
    load,
  };
  return new MemberClusterStatus({
    mode: 'embedded',
    clock,
    directory: new LocalDirectory(member),
    state,
    durability,
    durabilityReason: 'configured, or the best of a single member',
    followersWanted: 0,
    findings,
    progress: () =>
      Promise.resolve({ positions: new Map(), findings: new Map(), quarantine: () => undefined }),
    nats: () => Promise.resolve({ servers: [], remarks: [] }),
  });
}
