import type { ReplicaSource } from '#runtime/actor/ports.ts';
import type { Clock, Timer } from '#runtime/base/clock.ts';
import { sleep } from '#runtime/base/clock.ts';
import type { ClusterDirectory } from '#cluster/directory/cluster-directory.ts';
import type { MemberRegistry } from '#cluster/directory/member-registry.ts';
import type { Standing } from '#cluster/flush-journal/standing.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { OwnedPartition, PartitionRole } from './partition-environment.ts';
import type { PartitionMember } from './partition-member.ts';
import { Rest } from './rest.ts';

/** Between two looks at what this member should have, in milliseconds; news are acted on at once. */
const LOOK_MS = 200;

/** Between two looks whether a follower has caught up, in milliseconds. */
const WARM_MS = 500;

/** Between two looks whether everything has been handed over, in milliseconds. */
const DRAIN_POLL_MS = 25;

/** What the manager works with. */
export interface ManagerEnvironment {
  readonly directory: ClusterDirectory;
  readonly registry: MemberRegistry;
  readonly streamOf: (partition: number) => LogStream;
  /** Makes the member's side of a partition. */
  readonly makeMember: (
    partition: number,
    hear: { readonly onRole: (role: PartitionRole) => void; readonly report: (event: LogEvent) => void },
  ) => PartitionMember;
  readonly clock: Clock;
  /** Told of a change of a role that failed; the next look tries again. */
  readonly onFailure: (partition: number, cause: unknown) => void;
}

/**
 * Brings what this member has to what the directory says it should have: opens what nobody owns, follows, hands
 * over to whom something is to move, lets go of the rest. It acts on what it hears; who owns is decided by the log.
 */
export class PartitionManager {
  readonly #environment: ManagerEnvironment;
  readonly #members = new Map<number, PartitionMember>();
  /** Partitions whose role is being changed. */
  readonly #changing = new Set<number>();
  readonly #warm = new Set<number>();
  readonly #heirs = new Map<number, string>();
  /** Partitions that could not be opened or followed here: they are left to the others for a while. */
  readonly #failed = new Map<number, Rest>();
  #timer: Timer | undefined;
  #warmTimer: Timer | undefined;
  #stopListening: (() => void) | undefined;
  #state: 'running' | 'draining' | 'closed' = 'running';

  constructor(environment: ManagerEnvironment) {
    this.#environment = environment;
  }

  /** Begins. */
  start(): void {
    this.#stopListening = this.#environment.directory.onChange(() => this.#look());
    this.#look();
    this.#lookForWarm();
  }

  /** A partition while this member owns it. */
  local(partition: number): OwnedPartition | undefined {
    return this.#members.get(partition)?.owned;
  }

  /** What answers queries from a partition's actors as they are here, see {@link PartitionMember.reads}. */
  replica(partition: number): ReplicaSource | 'changing' | undefined {
    const member = this.#members.get(partition);
    return member?.owned?.host ?? member?.reads;
  }

  /** What this member says of its side of a partition, which it need not follow. */
  standing(partition: number): Promise<Standing | undefined> {
    return this.#memberOf(partition).standing();
  }

  /** This member's side of each partition it has something of. */
  get members(): ReadonlyMap<number, PartitionMember> {
    return this.#members;
  }

  /**
   * Hands everything over, to members that are ready to take it.
   *
   * @param graceMs time after which what is left is given up to whoever opens it
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
      this.#look();
      await sleep(clock, DRAIN_POLL_MS);
    }
  }

  /**
   * Lets go of everything and says good-bye.
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

  #look(): void {
    this.#timer?.cancel();
    if (this.#state === 'closed') return;
    const { directory, clock } = this.#environment;
    this.#tellResting();
    for (const { partition, to } of directory.handovers) this.#handOver(partition, to);
    this.#handOverContained();
    const wanted = new Set(directory.vacancies);
    for (const partition of wanted) this.#attempt(partition, (member) => member.own());
    const followed = new Set(directory.followed);
    for (const partition of followed)
      if (!wanted.has(partition) && this.#roleOf(partition) === 'idle')
        this.#attempt(partition, (member) => member.follow());
    this.#letGo(wanted, followed);
    this.#giveWay();
    this.#probe();
    this.#timer = clock.after(LOOK_MS, () => this.#look());
  }

  /** What is neither owned nor to be followed is closed; its files stay, they make following it again cheap. */
  #letGo(wanted: ReadonlySet<number>, followed: ReadonlySet<number>): void {
    const { placement, self } = this.#environment.directory;
    for (const [partition, member] of this.#members) {
      const isWanted =
        wanted.has(partition) || followed.has(partition) || placement.owners[partition] === self;
      if (isWanted || member.role !== 'following') continue;
      this.#change(partition, (each) => each.leave());
    }
  }

  /**
   * Somebody else owns what this member is opening, and was not heard of when that began. The log shows it only when
   * that one writes something: else the lease would be waited out, and the partition taken from an owner that is well.
   */
  #giveWay(): void {
    const { directory } = this.#environment;
    for (const [partition, member] of this.#members) {
      if (member.role !== 'opening' || directory.otherOwnerOf(partition) === undefined) continue;
      if ((directory.ownerOf(partition)?.epoch ?? 0) >= member.epoch) member.giveWay();
    }
  }

  /** Somebody else says that it owns what this member has: the log knows, and tells whoever appends. */
  #probe(): void {
    const { directory } = this.#environment;
    for (const [partition, { owned }] of this.#members) {
      if (owned === undefined || directory.ownerOf(partition)?.isSelf === true) continue;
      owned.log.probe();
    }
  }

  /** A read met damage in what this member has of a partition, which it owns or follows. */
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
    // One that is warm opens at once.
    const heir = this.#warmHeirOf(partition) ?? fit[0]?.id ?? others[0]?.id;
    if (heir !== undefined) this.#heirs.set(partition, heir);
    void member.startOver(cause);
  }

  /** A follower that has read to the end and can take a partition. */
  #warmHeirOf(partition: number): string | undefined {
    const { directory } = this.#environment;
    const warm = directory
      .members()
      .filter(({ isSuspect, warm: some }) => !isSuspect && some.includes(partition));
    const fit = directory.followersOf(partition).filter(({ id }) => !directory.isResting(partition, id));
    return fit.find(({ id }) => id !== directory.self && warm.some((each) => each.id === id))?.id;
  }

  /** What is damaged here is served where somebody has it whole. */
  #handOverContained(): void {
    for (const [partition, { damage }] of this.#members) {
      const heir = damage.contained === undefined ? undefined : this.#warmHeirOf(partition);
      if (heir !== undefined) this.#handOver(partition, heir);
    }
  }

  #handOver(partition: number, heir: string): void {
    if (this.#members.get(partition)?.owned === undefined) return;
    this.#heirs.set(partition, heir);
    this.#change(partition, (member) => member.follow());
  }

  #roleOf(partition: number): PartitionRole {
    return this.#members.get(partition)?.role ?? 'idle';
  }

  /**
   * Opens or follows a partition. When that fails, the others are told at once, so that the next one tries, and this
   * member waits before it tries again.
   */
  #attempt(partition: number, change: (member: PartitionMember) => Promise<unknown>): void {
    if (this.#hasFailed(partition)) return;
    this.#change(partition, (member) =>
      change(member).catch((cause: unknown) => {
        const rest = this.#failed.get(partition) ?? new Rest(this.#environment.clock);
        this.#failed.set(partition, rest);
        rest.begin();
        this.#tellResting();
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
    // One that opens it is as close as before: were it not, the others would try as well, and confirm nothing.
    if (role !== 'following' && role !== 'opening') this.#cool(partition);
    this.#tellResting();
    if (role === 'owning') {
      this.#failed.delete(partition);
      registry.claim(partition, member?.epoch ?? 0);
      return;
    }
    registry.release(partition, this.#heirs.get(partition));
    this.#heirs.delete(partition);
  }

  /** Says which partitions this member cannot take: the others would wait for it as long as it lives. */
  #tellResting(): void {
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

  /** A follower that has read to the end once reads along from then on. */
  #lookForWarm(): void {
    if (this.#state === 'closed') return;
    const cold = [...this.#members].filter(
      // Whoever lacks an actor takes no snapshot, and is the last one to own it.
      ([partition, member]) =>
        member.role === 'following' && member.damage.contained === undefined && !this.#warm.has(partition),
    );
    void Promise.all(cold.map(([partition, member]) => this.#warmUp(partition, member))).finally(() => {
      this.#warmTimer = this.#environment.clock.after(WARM_MS, () => this.#lookForWarm());
    });
  }

  async #warmUp(partition: number, member: PartitionMember): Promise<void> {
    try {
      const { lastSequence } = await this.#environment.streamOf(partition).state();
      if (member.sequence < lastSequence || member.role !== 'following') return;
      this.#warm.add(partition);
      this.#environment.registry.setWarm(this.#warm);
    } catch {
      // The servers cannot be reached; the next look may find them.
    }
  }
}
