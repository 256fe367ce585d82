import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { MemberAddress, MemberLoad, MemberView, PartitionOwner } from '#runtime/directory/ports.ts';
import { commonFormats, type Formats } from './common-formats.ts';
import { DuplicateMembers, type DuplicateMember } from './duplicate-members.ts';
import { type Claim, type Handover, type Heartbeat, HEARTBEAT_FORMAT } from './heartbeat.ts';

/** Times of the registry, in milliseconds. */
export interface RegistryTimes {
  /** Interval between two heartbeats. */
  readonly heartbeatMs: number;
  /**
   * Silence after which a member is suspected: three lost heartbeats. It is shorter than a read lease, so that the
   * wait for the lease and the detection overlap.
   */
  readonly suspectMs: number;
  /** Silence after which it is forgotten. */
  readonly forgetMs: number;
  /** Time for which a member must be present without a break before partitions of healthy members move to it. */
  readonly steadyMs: number;
  /** Time for which a partition that was given up is left to its successor. */
  readonly handoverMs: number;
}

/** Times that are suitable for a read lease of 4 seconds. */
export const registryTimes: RegistryTimes = Object.freeze({
  heartbeatMs: 1_000,
  suspectMs: 3_500,
  forgetMs: 600_000,
  steadyMs: 10_000,
  handoverMs: 5_000,
});

/**
 * Maximum number of members of a cluster. Further members are ignored, report this and end: members that receive the
 * heartbeats of different members would not agree on the owners.
 */
export const MEMBERS_MAX = 64;

/** Time for which a surplus member is reported after its last heartbeat, in milliseconds. */
const SURPLUS_REPORTED_MS = 60_000;

/** Maximum number of remembered ended processes, whose late heartbeats are ignored. */
const PAST_LIVES_MAX = 256;

/** Transport of heartbeats: each one reaches every other member, or is lost. */
export interface HeartbeatChannel {
  send(heartbeat: Heartbeat): void;
  /** @param hear called for every heartbeat that arrives, which may be one's own. @returns ends it */
  listen(hear: (heartbeat: Heartbeat) => void): () => void;
}

/** Observer of the registry, for logs and metrics. None of its methods may throw. */
export interface RegistryObserver {
  /** A member is present, again or for the first time. */
  joined(member: string): void;
  /** A member is suspected, or has left. */
  lost(member: string, isLeaving: boolean): void;
  /** Another process uses the name of this one: both are wrong until one is renamed. */
  duplicate(url: string): void;
  /** A member exceeds {@link MEMBERS_MAX}; it may be this one. */
  surplus(member: string): void;
}

/** Dependencies of a registry. */
export interface RegistryEnvironment {
  readonly member: MemberAddress;
  readonly version: string;
  /** The newest formats this version understands. */
  readonly formats: Formats;
  /** Identifies the master key that this member encrypts and signs with. */
  readonly key?: string;
  readonly partitions: number;
  readonly load: () => MemberLoad;
  readonly channel: HeartbeatChannel;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: RegistryObserver;
  /** Default: {@link registryTimes}. */
  readonly times?: RegistryTimes;
}

/** Another member and its last heartbeat. */
interface Peer {
  heartbeat: Heartbeat;
  /** Time of the last heartbeat, on the monotonic clock of this process. */
  heardMs: number;
  /** Time since which it has been present without a break. */
  steadyMs: number;
  isSuspect: boolean;
}

/**
 * The members whose heartbeats this member receives. Every member publishes its state once a second; a member that is
 * silent for a while is suspected and counts as gone until its next heartbeat. Times are those of the listener's
 * monotonic clock, and a listener that was suspended itself suspects no member for that time.
 *
 * The registry only proposes owners. A suspected owner keeps its partition until the log says otherwise.
 */
export class MemberRegistry {
  readonly #environment: RegistryEnvironment;
  readonly #times: RegistryTimes;
  readonly #incarnation: string;
  readonly #peers = new Map<string, Peer>();
  readonly #pastLives = new Set<string>();
  readonly #duplicates: DuplicateMembers;
  /** Epochs seen in the logs: a claim with an older one is outdated. */
  readonly #epochs = new Map<number, number>();
  readonly #owned = new Map<number, number>();
  readonly #handovers = new Map<number, { readonly successor: string; readonly untilMs: number }>();
  #warm: ReadonlySet<number> = new Set();
  #resting: ReadonlySet<number> = new Set();
  #beat = 0;
  #isDraining = false;
  #isLeaving = false;
  #startedMs = 0;
  #tickedMs = 0;
  #timer: Timer | undefined;
  #stopListening: (() => void) | undefined;
  #generation = 0;
  #owners: Map<number, PartitionOwner> | undefined;
  /** Steady members, and whether this one had settled, at the last tick: both may change with time alone. */
  #steady = 0;
  #wasSettled = false;
  #isTelling = false;
  #isSending = false;
  /** The newest surplus member, and the time of its last heartbeat. */
  #surplus: { readonly member: string; readonly heardMs: number } | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(environment: RegistryEnvironment) {
    this.#environment = environment;
    this.#times = environment.times ?? registryTimes;
    this.#duplicates = new DuplicateMembers(environment.clock, this.#times.heartbeatMs);
    this.#incarnation = Buffer.from(environment.random.bytes(8)).toString('hex');
  }

  /** Starts to send and receive heartbeats. */
  start(): void {
    const { channel, clock } = this.#environment;
    this.#startedMs = clock.monotonicMs();
    this.#tickedMs = this.#startedMs;
    this.#stopListening = channel.listen((heartbeat) => this.#hear(heartbeat));
    this.#tick();
  }

  /** Sends the last heartbeat, and stops. Idempotent. */
  stop(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#timer?.cancel();
    this.#stopListening?.();
    this.#owned.clear();
    this.#send();
  }

  /**
   * Whether heartbeats of all present members must have arrived by now. Before, a member that was just started could
   * take partitions that others own.
   */
  get isSettled(): boolean {
    return this.#environment.clock.monotonicMs() - this.#startedMs >= this.#times.suspectMs;
  }

  /** A member that exceeds {@link MEMBERS_MAX}; it may be this one. */
  get surplus(): string | undefined {
    const isOld =
      this.#surplus === undefined ||
      this.#environment.clock.monotonicMs() - this.#surplus.heardMs > SURPLUS_REPORTED_MS;
    return isOld ? undefined : this.#surplus?.member;
  }

  /** Known names that two processes use; this member's may be among them. */
  get duplicates(): readonly DuplicateMember[] {
    return this.#duplicates.all;
  }

  /** Records that this member owns a partition. */
  claim(partition: number, epoch: number): void {
    this.#owned.set(partition, epoch);
    this.observe(partition, epoch);
    this.#changed(true);
  }

  /**
   * Records that this member no longer owns a partition.
   *
   * @param successor the member that is to open it; the others leave it to that member for a while
   */
  release(partition: number, successor?: string): void {
    if (!this.#owned.delete(partition)) return;
    if (successor !== undefined) {
      const untilMs = this.#environment.clock.monotonicMs() + this.#times.handoverMs;
      this.#handovers.set(partition, { successor, untilMs });
    }
    this.#changed(true);
  }

  /** Records the epoch of a partition's owner in the log: claims with an older epoch are outdated. */
  observe(partition: number, epoch: number): void {
    if ((this.#epochs.get(partition) ?? 0) >= epoch) return;
    this.#epochs.set(partition, epoch);
    const own = this.#owned.get(partition);
    if (own !== undefined && own < epoch) this.#owned.delete(partition);
    this.#changed(false);
  }

  /** Sets the partitions that this member follows closely enough to take over at once. */
  setWarm(partitions: Iterable<number>): void {
    const warm = new Set(partitions);
    if (isSameSet(warm, this.#warm)) return;
    this.#warm = warm;
    this.#changed(true);
  }

  /** Sets the partitions that this member cannot keep at present. */
  setResting(partitions: Iterable<number>): void {
    const resting = new Set(partitions);
    if (isSameSet(resting, this.#resting)) return;
    this.#resting = resting;
    this.#changed(true);
  }

  /** Starts to hand over all partitions of this member. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#changed(true);
  }

  /** Rises with every change that may affect the placement. */
  get generation(): number {
    return this.#generation;
  }

  /** The owner of each partition: among the present members that claim it, the one with the newest epoch. */
  get owners(): ReadonlyMap<number, PartitionOwner> {
    if (this.#owners === undefined) {
      this.#owners = new Map();
      const { member } = this.#environment;
      for (const [partition, epoch] of this.#owned) this.#note({ ...member, epoch, isSelf: true }, partition);
      for (const { heartbeat } of this.#peers.values()) {
        const address = { id: heartbeat.member, url: heartbeat.url, isSelf: false };
        for (const [partition, epoch] of heartbeat.owned) this.#note({ ...address, epoch }, partition);
      }
    }
    return this.#owners;
  }

  /** Successors that former owners named for partitions they have just given up. */
  get successors(): ReadonlyMap<number, string> {
    const named = [...this.#peers.values()].flatMap(({ heartbeat, isSuspect }) =>
      isSuspect ? [] : heartbeat.handovers,
    );
    return new Map([...named, ...this.#ownHandovers()]);
  }

  /** All members by name, this one included. */
  members(): readonly MemberView[] {
    const { load, member, version } = this.#environment;
    const self: MemberView = {
      ...member,
      isSelf: true,
      isSuspect: false,
      isDraining: this.#isDraining,
      version,
      load: load(),
      owned: sorted(this.#owned.keys()),
      warm: sorted(this.#warm),
    };
    const others = [...this.#peers.values()].map(
      ({ heartbeat, isSuspect }): MemberView => ({
        id: heartbeat.member,
        url: heartbeat.url,
        isSelf: false,
        isSuspect,
        isDraining: heartbeat.isDraining,
        version: heartbeat.version,
        load: heartbeat.load,
        owned: sorted(heartbeat.owned.map(([partition]) => partition)),
        warm: sorted(heartbeat.warm),
      }),
    );
    return [self, ...others].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** Returns whether a member has been present without a break for a while. */
  isSteady(member: string): boolean {
    const nowMs = this.#environment.clock.monotonicMs();
    const sinceMs =
      member === this.#environment.member.id ? this.#startedMs : this.#peers.get(member)?.steadyMs;
    return sinceMs !== undefined && nowMs - sinceMs >= this.#times.steadyMs;
  }

  /** Returns the partitions that a member reports it cannot keep at present. */
  restingOf(member: string): ReadonlySet<number> {
    if (member === this.#environment.member.id) return this.#resting;
    return new Set(this.#peers.get(member)?.heartbeat.resting);
  }

  /** Returns whether a member is present. */
  isPresent(member: string): boolean {
    return member === this.#environment.member.id || this.#peers.get(member)?.isSuspect === false;
  }

  /** The formats that all known members understand: nothing newer may be written or sent. */
  get formats(): Formats {
    const others = [...this.#peers.values()].map(({ heartbeat }) => heartbeat.formats);
    return commonFormats(this.#environment.formats, others);
  }

  /**
   * Whether all known members encrypt and sign with the master key of this one. A silent member counts for as long as it is
   * remembered.
   */
  get isKeyShared(): boolean {
    const { key } = this.#environment;
    return key !== undefined && [...this.#peers.values()].every(({ heartbeat }) => heartbeat.key === key);
  }

  /** Returns the address of a member; undefined for an unknown one. */
  addressOf(member: string): MemberAddress | undefined {
    const { member: self } = this.#environment;
    if (member === self.id) return self;
    const heartbeat = this.#peers.get(member)?.heartbeat;
    return heartbeat === undefined ? undefined : { id: member, url: heartbeat.url };
  }

  /** @see ports.ts, Directory.onChange */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #tick(): void {
    const { clock } = this.#environment;
    const { heartbeatMs } = this.#times;
    const nowMs = clock.monotonicMs();
    const lateMs = nowMs - this.#tickedMs - heartbeatMs;
    this.#tickedMs = nowMs;
    // This process was suspended: the messages of the others are still unread, so their silence does not count.
    if (lateMs > heartbeatMs) for (const peer of this.#peers.values()) peer.heardMs += lateMs;
    this.#sweep(nowMs);
    this.#settleHandovers(nowMs);
    this.#send();
    this.#timer = clock.after(heartbeatMs, () => this.#tick());
  }

  #sweep(nowMs: number): void {
    const { forgetMs, suspectMs } = this.#times;
    for (const [member, peer] of this.#peers) {
      const silentMs = nowMs - peer.heardMs;
      if (silentMs > forgetMs) {
        this.#peers.delete(member);
        this.#changed(false);
      } else if (silentMs > suspectMs && !peer.isSuspect) {
        peer.isSuspect = true;
        this.#environment.observer.lost(member, false);
        this.#changed(false);
      }
    }
    const { id } = this.#environment.member;
    const steady = [id, ...this.#peers.keys()].filter((member) => this.isSteady(member)).length;
    if (steady === this.#steady && this.isSettled === this.#wasSettled) return;
    this.#steady = steady;
    this.#wasSettled = this.isSettled;
    this.#changed(false);
  }

  /** Drops hand-overs that are complete or have timed out. */
  #settleHandovers(nowMs: number): void {
    for (const [partition, { untilMs }] of this.#handovers) {
      if (nowMs < untilMs && !this.owners.has(partition)) continue;
      this.#handovers.delete(partition);
      this.#changed(false);
    }
  }

  #note(owner: PartitionOwner, partition: number): void {
    const owners = this.#owners as Map<number, PartitionOwner>;
    if (owner.epoch < (this.#epochs.get(partition) ?? 0)) return;
    if (owner.epoch > (owners.get(partition)?.epoch ?? 0)) owners.set(partition, owner);
  }

  #hear(heartbeat: Heartbeat): void {
    const { clock, member: self, observer } = this.#environment;
    const { beat, incarnation, isLeaving, member } = heartbeat;
    if (this.#isLeaving || incarnation === this.#incarnation) return;
    if (member === self.id) {
      observer.duplicate(heartbeat.url);
      this.#duplicates.hear(heartbeat);
      return;
    }
    if (this.#pastLives.has(incarnation)) {
      this.#duplicates.hear(heartbeat);
      return;
    }
    const nowMs = clock.monotonicMs();
    const peer = this.#peers.get(member);
    const isSameLife = peer?.heartbeat.incarnation === incarnation;
    if (isSameLife && beat <= peer.heartbeat.beat) return;
    if (peer !== undefined && !isSameLife) this.#bury(peer.heartbeat.incarnation);
    if (isLeaving) {
      this.#bury(incarnation);
      if (this.#peers.delete(member)) observer.lost(member, true);
      this.#changed(false);
      return;
    }
    if (peer === undefined && this.#peers.size >= MEMBERS_MAX - 1 && !this.#forgetSilent()) {
      this.#noteSurplus(heartbeat);
      return;
    }
    const isContinued = isSameLife && !peer.isSuspect;
    if (!isContinued) observer.joined(member);
    const steadyMs = isContinued ? peer.steadyMs : nowMs;
    // A heartbeat of a newer build may have another meaning: it counts only as a sign of life.
    const heard =
      heartbeat.format > HEARTBEAT_FORMAT
        ? { ...heartbeat, owned: [], handovers: [], warm: [], resting: [] }
        : heartbeat;
    this.#peers.set(member, { heartbeat: heard, heardMs: nowMs, steadyMs, isSuspect: false });
    if (!isContinued || !saysTheSame(peer.heartbeat, heard)) this.#changed(false);
  }

  /** Frees a slot for a member by forgetting a silent one. @returns whether there is a slot */
  #forgetSilent(): boolean {
    for (const [member, { isSuspect }] of this.#peers) {
      if (!isSuspect) continue;
      this.#peers.delete(member);
      return true;
    }
    return false;
  }

  /** Records the surplus member: of all present members the one that has sent the fewest heartbeats came last. */
  #noteSurplus({ beat, member }: Heartbeat): void {
    const { clock, member: self, observer } = this.#environment;
    let newest = { beat, member };
    const others = [...this.#peers.values()].map(({ heartbeat }) => heartbeat);
    for (const each of [...others, { beat: this.#beat, member: self.id }])
      if (each.beat < newest.beat || (each.beat === newest.beat && each.member > newest.member))
        newest = each;
    const isNews = this.surplus !== newest.member;
    this.#surplus = { member: newest.member, heardMs: clock.monotonicMs() };
    if (isNews) observer.surplus(newest.member);
  }

  #bury(incarnation: string): void {
    if (this.#pastLives.size >= PAST_LIVES_MAX) {
      for (const oldest of this.#pastLives) {
        this.#pastLives.delete(oldest);
        break;
      }
    }
    this.#pastLives.add(incarnation);
  }

  #send(): void {
    const { channel, formats, key, load, member, version } = this.#environment;
    this.#beat += 1;
    channel.send({
      format: HEARTBEAT_FORMAT,
      member: member.id,
      incarnation: this.#incarnation,
      beat: this.#beat,
      url: member.url,
      version,
      formats,
      ...(key === undefined ? {} : { key }),
      load: load(),
      owned: [...this.#owned].map(([partition, epoch]): Claim => [partition, epoch]),
      handovers: this.#ownHandovers(),
      warm: [...this.#warm],
      resting: [...this.#resting],
      isDraining: this.#isDraining,
      isLeaving: this.#isLeaving,
    });
  }

  #ownHandovers(): Handover[] {
    return [...this.#handovers].map(([partition, { successor }]): Handover => [partition, successor]);
  }

  /** @param isNews whether the others must be notified: at once, but once for all changes of a turn */
  #changed(isNews: boolean): void {
    const { clock } = this.#environment;
    this.#generation += 1;
    this.#owners = undefined;
    if (isNews && !this.#isSending && this.#timer !== undefined) {
      this.#isSending = true;
      clock.soon(() => {
        this.#isSending = false;
        if (!this.#isLeaving) this.#send();
      });
    }
    if (this.#isTelling) return;
    this.#isTelling = true;
    clock.soon(() => {
      this.#isTelling = false;
      for (const listener of this.#listeners) listener();
    });
  }
}

function saysTheSame(a: Heartbeat, b: Heartbeat): boolean {
  const said = ({ handovers, isDraining, owned, resting, url, warm }: Heartbeat): string =>
    JSON.stringify([isDraining, url, owned, handovers, warm, resting]);
  return said(a) === said(b);
}

function isSameSet(a: ReadonlySet<number>, b: ReadonlySet<number>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each));
}

function sorted(numbers: Iterable<number>): number[] {
  return [...numbers].sort((a, b) => a - b);
}
