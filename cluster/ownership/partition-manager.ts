import type { ReplicaSource } from '#runtime/actor/ports.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { sleep } from '#runtime/base/time/clock.ts';
import type { ClusterDirectory } from '#cluster/directory/cluster-directory.ts';
import type { MemberRegistry } from '#cluster/directory/member-registry.ts';
import type { ReplicaStatus } from '#cluster/replica-durability/replica-status.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { OwnedPartition, PartitionRole } from './partition-environment.ts';
import type { PartitionMember } from './partition-member.ts';
import { PartitionBackoff } from './partition-backoff.ts';

/** Interval of the checks of this member's roles, in milliseconds; changes of the directory are handled at once. */
const CHECK_MS = 200;

/** Interval of the checks whether a follower has caught up, in milliseconds. */
const WARM_MS = 500;

/** Interval of the checks whether everything has been handed over, in milliseconds. */
const DRAIN_POLL_MS = 25;

/** What the manager hears of this member's side of a partition. */
export interface PartitionListeners {
  readonly onRole: (role: PartitionRole) => void;
  readonly report: (event: LogEvent) => void;
}

/** Dependencies of the manager. */
export interface ManagerEnvironment {
  readonly directory: ClusterDirectory;
  readonly registry: MemberRegistry;
  readonly streamOf: (partition: number) => LogStream;
  /** Creates this member's side of a partition. */
  readonly makeMember: (partition: number, hear: PartitionListeners) => PartitionMember;
  readonly clock: Clock;
  /** Called for a failed change of a role; the next check tries again. */
  readonly onFailure: (partition: number, cause: unknown) => void;
}

/**
 * Gives this member the roles that the directory assigns: opens partitions without an owner, follows, hands over,
 * and closes the rest. It acts on heartbeats; the log decides who owns a partition.
 */
export class PartitionManager {
  readonly #environment: ManagerEnvironment;
  readonly #members = new Map<number, PartitionMember>();
  /** Partitions whose role is changing. */
  readonly #changing = new Set<number>();
  readonly #warm = new Set<number>();
  readonly #successors = new Map<number, string>();
  /** Partitions that could not be opened or followed here: they are left to other members for a while. */
  readonly #failed = new Map<number, PartitionBackoff>();
  #timer: Timer | undefined;
  #warmTimer: Timer | undefined;
  #stopListening: (() => void) | undefined;
  #state: 'running' | 'draining' | 'closed' = 'running';

  constructor(environment: ManagerEnvironment) {
    this.#environment = environment;
  }

  /** Starts. */
  start(): void {
    this.#stopListening = this.#environment.directory.onChange(() => this.#check());
    this.#check();
    this.#checkWarm();
  }

  /** Returns a partition while this member owns it. */
  local(partition: number): OwnedPartition | undefined {
    return this.#members.get(partition)?.owned;
  }

  /** Returns the reads over this member's copy of a partition, see {@link PartitionMember.reads}. */
  replica(partition: number): ReplicaSource | 'changing' | undefined {
    const member = this.#members.get(partition);
    return member?.owned?.host ?? member?.reads;
  }

  /** Returns this member's status of a partition, which it need not follow. */
  status(partition: number): Promise<ReplicaStatus | undefined> {
    return this.#memberOf(partition).status();
  }

  /** This member's side of each partition it has data of. */
  get members(): ReadonlyMap<number, PartitionMember> {
    return this.#members;
  }

  /**
   * Hands everything over, to members that are ready to take it.
   *
   * @param graceMs time after which the remaining partitions are given up without a successor
   */
  async drain(graceMs: number): Promise<void> {
    const { registry, clock, directory } = this.#environment;
    if (this.#state !== 'running') return;
    this.#state = 'draining';
    registry.drain();
    const endMs = clock.monotonicMs() + graceMs;
    const isAlone = (): boolean =>
      directory.members().every(({ isSelf, isSuspect, isDraining }) => isSelf || isSuspect || isDraining);
    while (this.#owns && !isAlone() && clock.monotonicMs() < endMs) {
      this.#check();
      await sleep(clock, DRAIN_POLL_MS);
    }
  }

  /**
   * Gives up all partitions and leaves the cluster.
   *
   * @param graceMs as {@link PartitionMember.leave}
   */
  async close(graceMs?: number): Promise<void> {
    this.#state = 'closed';
    this.#timer?.cancel();
    this.#warmTimer?.cancel();
    this.#stopListening?.();
    await Promise.all([...this.#members.values()].map((member) => member.leave(graceMs)));
    this.#environment.registry.stop();
  }

  get #owns(): boolean {
    return [...this.#members.values()].some(({ owned }) => owned !== undefined);
  }

  #check(): void {
    this.#timer?.cancel();
    if (this.#state === 'closed') return;
    const { directory, clock } = this.#environment;
    this.#publishResting();
    for (const { partition, to } of directory.handovers) this.#handOver(partition, to);
    this.#handOverContained();
    const wanted = new Set(directory.vacancies);
    for (const partition of wanted) this.#attempt(partition, (member) => member.own());
    const followed = new Set(directory.followed);
    for (const partition of followed)
      if (!wanted.has(partition) && this.#roleOf(partition) === 'idle')
        this.#attempt(partition, (member) => member.follow());
    this.#release(wanted, followed);
    this.#giveWay();
    this.#probe();
    this.#timer = clock.after(CHECK_MS, () => this.#check());
  }

  /** Closes partitions without a role; their files stay, so that following them again is cheap. */
  #release(wanted: ReadonlySet<number>, followed: ReadonlySet<number>): void {
    const { placement, self } = this.#environment.directory;
    for (const [partition, member] of this.#members) {
      const isWanted =
        wanted.has(partition) || followed.has(partition) || placement.owners[partition] === self;
      if (isWanted || member.role !== 'following') continue;
      this.#change(partition, (each) => each.leave());
    }
  }

  /**
   * Gives up opening a partition for which a heartbeat has named an owner since the opening began. The log shows an
   * owner only when it writes, so this member would wait for the lease and take the partition from a healthy owner.
   */
  #giveWay(): void {
    const { directory } = this.#environment;
    for (const [partition, member] of this.#members) {
      if (member.role !== 'opening' || directory.otherOwnerOf(partition) === undefined) continue;
      if ((directory.ownerOf(partition)?.epoch ?? 0) >= member.epoch) member.giveWay();
    }
  }

  /** Another member claims a partition that this member owns: the log decides, which an append reveals. */
  #probe(): void {
    const { directory } = this.#environment;
    for (const [partition, { owned }] of this.#members) {
      if (owned === undefined || directory.ownerOf(partition)?.isSelf === true) continue;
      owned.log.probe();
    }
  }

  /** A read found damage in this member's data of a partition, which it owns or follows. */
  metDamage(partition: number, cause: unknown): void {
    const member = this.#members.get(partition);
    if (member === undefined) return;
    const { contained, isReading, wasRebuilt } = member.damage;
    if (contained !== undefined || isReading || wasRebuilt) return;
    if (member.owned === undefined) void member.startOver(cause);
    else this.stepDown(partition, cause);
  }

  /** Gives a partition to another member, because its shards failed here; see {@link PartitionMember.startOver}. */
  stepDown(partition: number, cause: unknown): void {
    const member = this.#members.get(partition);
    if (member?.owned === undefined || this.#state === 'closed') return;
    const { directory } = this.#environment;
    const others = directory.followersOf(partition).filter(({ id }) => id !== directory.self);
    const fit = others.filter(({ id }) => !directory.isResting(partition, id));
    // A warm successor opens at once.
    const successor = this.#warmSuccessorOf(partition) ?? fit[0]?.id ?? others[0]?.id;
    if (successor !== undefined) this.#successors.set(partition, successor);
    void member.startOver(cause);
  }

  /** Returns a follower that has read to the end and can take a partition. */
  #warmSuccessorOf(partition: number): string | undefined {
    const { directory } = this.#environment;
    const warm = directory
      .members()
      .filter(({ isSuspect, warm: some }) => !isSuspect && some.includes(partition));
    const fit = directory.followersOf(partition).filter(({ id }) => !directory.isResting(partition, id));
    return fit.find(({ id }) => id !== directory.self && warm.some((each) => each.id === id))?.id;
  }

  /** Hands a partition with contained damage to a member that has it complete. */
  #handOverContained(): void {
    for (const [partition, { damage }] of this.#members) {
      const successor = damage.contained === undefined ? undefined : this.#warmSuccessorOf(partition);
      if (successor !== undefined) this.#handOver(partition, successor);
    }
  }

  #handOver(partition: number, successor: string): void {
    if (this.#members.get(partition)?.owned === undefined) return;
    this.#successors.set(partition, successor);
    this.#change(partition, (member) => member.follow());
  }

  #roleOf(partition: number): PartitionRole {
    return this.#members.get(partition)?.role ?? 'idle';
  }

  /**
   * Opens or follows a partition. After a failure, the others are notified at once, so that the next one tries, and
   * this member waits before it tries again.
   */
  #attempt(partition: number, change: (member: PartitionMember) => Promise<unknown>): void {
    if (this.#hasFailed(partition)) return;
    this.#change(partition, (member) =>
      change(member).catch((cause: unknown) => {
        const rest = this.#failed.get(partition) ?? new PartitionBackoff(this.#environment.clock);
        this.#failed.set(partition, rest);
        rest.begin();
        this.#publishResting();
        throw cause;
      }),
    );
  }

  #hasFailed(partition: number): boolean {
    return this.#failed.get(partition)?.isOn === true;
  }

  #change(partition: number, change: (member: PartitionMember) => Promise<unknown>): void {
    if (this.#changing.has(partition)) return;
    const member = this.#memberOf(partition);
    if (member.role === 'quarantined') return;
    this.#changing.add(partition);
    change(member)
      .catch((cause: unknown) => this.#environment.onFailure(partition, cause))
      .finally(() => {
        this.#changing.delete(partition);
      });
  }

  #memberOf(partition: number): PartitionMember {
    const known = this.#members.get(partition);
    if (known !== undefined) return known;
    const made = this.#environment.makeMember(partition, {
      onRole: (role) => this.#onRole(partition, role),
      report: (event) => this.#onLogEvent(partition, event),
    });
    this.#members.set(partition, made);
    return made;
  }

  #onRole(partition: number, role: PartitionRole): void {
    const { registry } = this.#environment;
    const member = this.#members.get(partition);
    // A candidate is as close as a follower: otherwise the others would try as well, and confirm nothing.
    if (role !== 'following' && role !== 'opening') this.#cool(partition);
    this.#publishResting();
    if (role === 'owning') {
      this.#failed.delete(partition);
      registry.claim(partition, member?.epoch ?? 0);
      return;
    }
    registry.release(partition, this.#successors.get(partition));
    this.#successors.delete(partition);
  }

  /**
   * Publishes the partitions that this member cannot take: otherwise the others would wait for it as long as it lives.
   */
  #publishResting(): void {
    const unfit = [...this.#members].filter(
      ([partition, { damage, isResting, role }]) =>
        isResting || damage.contained !== undefined || role === 'quarantined' || this.#hasFailed(partition),
    );
    this.#environment.registry.setResting(unfit.map(([partition]) => partition));
  }

  #onLogEvent(partition: number, event: LogEvent): void {
    const { registry } = this.#environment;
    if (event.kind === 'resolved') registry.claim(partition, event.epoch);
    if (event.kind === 'fenced') registry.observe(partition, event.epoch);
  }

  #cool(partition: number): void {
    if (this.#warm.delete(partition)) this.#environment.registry.setWarm(this.#warm);
  }

  /** A follower that has read to the end once is up to date from then on. */
  #checkWarm(): void {
    if (this.#state === 'closed') return;
    const cold = [...this.#members].filter(
      // A member that lacks an actor takes no snapshot, and is the last one to own the partition.
      ([partition, member]) =>
        member.role === 'following' && member.damage.contained === undefined && !this.#warm.has(partition),
    );
    void Promise.all(cold.map(([partition, member]) => this.#warmUp(partition, member))).finally(() => {
      this.#warmTimer = this.#environment.clock.after(WARM_MS, () => this.#checkWarm());
    });
  }

  async #warmUp(partition: number, member: PartitionMember): Promise<void> {
    try {
      const { lastSequence } = await this.#environment.streamOf(partition).state();
      if (member.sequence < lastSequence || member.role !== 'following') return;
      this.#warm.add(partition);
      this.#environment.registry.setWarm(this.#warm);
    } catch {
      // The servers cannot be reached; the next check may reach them.
    }
  }
}
