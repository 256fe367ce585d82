import type { Clock, Timer } from '#runtime/base/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { MemberAddress, MemberLoad, MemberView, PartitionOwner } from '#runtime/directory/ports.ts';
import { commonFormats, type Formats } from './common-formats.ts';
import { LivesOfOneName, type Namesake } from './lives-of-one-name.ts';
import { type Claim, type Handover, type Heartbeat, HEARTBEAT_FORMAT } from './heartbeat.ts';

/** Times of the registry, in milliseconds. */
export interface RegistryTimes {
  /** Between two heartbeats. */
  readonly heartbeatMs: number;
  /** Silence after which a member is suspected. Three heartbeats lost; less than a read lease, so that waiting for
   * the lease and finding out overlap. */
  readonly suspectMs: number;
  /** Silence after which it is forgotten. */
  readonly forgetMs: number;
  /** How long a member must have been there without a break until something is moved to it that is well elsewhere. */
  readonly steadyMs: number;
  /** How long a partition that was given up is left to its heir. */
  readonly handoverMs: number;
}

/** Times that fit a read lease of 4 seconds. */
export const registryTimes: RegistryTimes = Object.freeze({
  heartbeatMs: 1_000,
  suspectMs: 3_500,
  forgetMs: 600_000,
  steadyMs: 10_000,
  handoverMs: 5_000,
});

/**
 * Members a cluster has at most. Who comes later is not listened to, says so and ends: members that listen to different
 * ones would not agree who is to own what.
 */
export const MEMBERS_MAX = 64;

/** How long a member that is one too many is told of after it was heard last, in milliseconds. */
const SURPLUS_TOLD_MS = 60_000;

/** Earlier lives of members that are remembered, so that what comes late from one is not taken for news. */
const PAST_LIVES_MAX = 256;

/** How heartbeats travel: to every other member, or not at all. */
export interface HeartbeatChannel {
  send(heartbeat: Heartbeat): void;
  /** @param hear called for every heartbeat that arrives, one's own may be among them. @returns ends it */
  listen(hear: (heartbeat: Heartbeat) => void): () => void;
}

/** What the registry tells about itself; logs and metrics hang on it. Nothing of it may throw. */
export interface RegistryObserver {
  /** A member is heard of, again or for the first time. */
  joined(member: string): void;
  /** A member is not heard of any more, or said good-bye. */
  lost(member: string, isLeaving: boolean): void;
  /** Another process runs under the name of this one: both are wrong until one is renamed. */
  duplicate(url: string): void;
  /** A member is one too many, see {@link MEMBERS_MAX}; it may be this one. */
  surplus(member: string): void;
}

/** Everything a registry works with. */
export interface RegistryEnvironment {
  readonly member: MemberAddress;
  readonly version: string;
  /** The newest formats this version understands. */
  readonly formats: Formats;
  readonly partitions: number;
  readonly load: () => MemberLoad;
  readonly channel: HeartbeatChannel;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: RegistryObserver;
  /** Default: {@link registryTimes}. */
  readonly times?: RegistryTimes;
}

/** Another member as it was heard last. */
interface Peer {
  heartbeat: Heartbeat;
  /** When, on the monotonic clock of this process. */
  heardMs: number;
  /** Since when it has been heard without a break. */
  steadyMs: number;
  isSuspect: boolean;
}

/**
 * Who the members are, as far as this one hears. Every member says once a second what it has; who is silent for a
 * while is suspected and counts as gone until it is heard again. All of it is judged by the monotonic clock of the
 * listener alone, and a listener that stood still itself suspects nobody for it.
 *
 * It only says who should try: that somebody is suspected takes nothing from him, the log does.
 */
export class MemberRegistry {
  readonly #environment: RegistryEnvironment;
  readonly #times: RegistryTimes;
  readonly #incarnation: string;
  readonly #peers = new Map<string, Peer>();
  readonly #pastLives = new Set<string>();
  readonly #namesakes: LivesOfOneName;
  /** Epochs seen in the logs: a claim under an older one is out of date. */
  readonly #epochs = new Map<number, number>();
  readonly #owned = new Map<number, number>();
  readonly #handovers = new Map<number, { readonly heir: string; readonly untilMs: number }>();
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
  /** Members that were steady, and whether this one had settled, at the last tick: time alone changes both. */
  #steady = 0;
  #wasSettled = false;
  #isTelling = false;
  #isSending = false;
  /** The newest member that is one too many, and when it was heard. */
  #surplus: { readonly member: string; readonly heardMs: number } | undefined;
  readonly #listeners = new Set<() => void>();

  constructor(environment: RegistryEnvironment) {
    this.#environment = environment;
    this.#times = environment.times ?? registryTimes;
    this.#namesakes = new LivesOfOneName(environment.clock, this.#times.heartbeatMs);
    this.#incarnation = Buffer.from(environment.random.bytes(8)).toString('hex');
  }

  /** Begins to listen and to be heard. */
  start(): void {
    const { channel, clock } = this.#environment;
    this.#startedMs = clock.monotonicMs();
    this.#tickedMs = this.#startedMs;
    this.#stopListening = channel.listen((heartbeat) => this.#hear(heartbeat));
    this.#tick();
  }

  /** Says good-bye, and nothing after it. Idempotent. */
  stop(): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#timer?.cancel();
    this.#stopListening?.();
    this.#owned.clear();
    this.#send();
  }

  /**
   * Whether everybody who is there must have been heard by now: before, one that is just started would take what
   * others have.
   */
  get isSettled(): boolean {
    return this.#environment.clock.monotonicMs() - this.#startedMs >= this.#times.suspectMs;
  }

  /** A member that is one too many, see {@link MEMBERS_MAX}; it may be this one. */
  get surplus(): string | undefined {
    const isOld =
      this.#surplus === undefined ||
      this.#environment.clock.monotonicMs() - this.#surplus.heardMs > SURPLUS_TOLD_MS;
    return isOld ? undefined : this.#surplus?.member;
  }

  /** Names that two processes have, as far as is heard; it may be that of this one. */
  get namesakes(): readonly Namesake[] {
    return this.#namesakes.all;
  }

  /** This member owns a partition from now on. */
  claim(partition: number, epoch: number): void {
    this.#owned.set(partition, epoch);
    this.observe(partition, epoch);
    this.#changed(true);
  }

  /**
   * This member does not own a partition any more.
   *
   * @param heir who is to open it; the others leave it to him for a while
   */
  release(partition: number, heir?: string): void {
    if (!this.#owned.delete(partition)) return;
    if (heir !== undefined) {
      const untilMs = this.#environment.clock.monotonicMs() + this.#times.handoverMs;
      this.#handovers.set(partition, { heir, untilMs });
    }
    this.#changed(true);
  }

  /** The log of a partition shows that somebody owns it under an epoch: whoever claims an older one is out of date. */
  observe(partition: number, epoch: number): void {
    if ((this.#epochs.get(partition) ?? 0) >= epoch) return;
    this.#epochs.set(partition, epoch);
    const own = this.#owned.get(partition);
    if (own !== undefined && own < epoch) this.#owned.delete(partition);
    this.#changed(false);
  }

  /** Which partitions this member follows closely enough to take over at once. */
  setWarm(partitions: Iterable<number>): void {
    const warm = new Set(partitions);
    if (isSameSet(warm, this.#warm)) return;
    this.#warm = warm;
    this.#changed(true);
  }

  /** Which partitions this member cannot keep at present. */
  setResting(partitions: Iterable<number>): void {
    const resting = new Set(partitions);
    if (isSameSet(resting, this.#resting)) return;
    this.#resting = resting;
    this.#changed(true);
  }

  /** This member gives away what it has. */
  drain(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#changed(true);
  }

  /** Rises whenever something changed that who should have what may follow from. */
  get generation(): number {
    return this.#generation;
  }

  /** Who owns each partition: of all who say so, and are not gone, the one under the newest epoch. */
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

  /** Who is to open partitions that were just given up, by those who gave them up. */
  get heirs(): ReadonlyMap<number, string> {
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

  /** Whether a member has been there without a break for a while. */
  isSteady(member: string): boolean {
    const nowMs = this.#environment.clock.monotonicMs();
    const sinceMs =
      member === this.#environment.member.id ? this.#startedMs : this.#peers.get(member)?.steadyMs;
    return sinceMs !== undefined && nowMs - sinceMs >= this.#times.steadyMs;
  }

  /** Partitions a member cannot keep at present, as it says. */
  restingOf(member: string): ReadonlySet<number> {
    if (member === this.#environment.member.id) return this.#resting;
    return new Set(this.#peers.get(member)?.heartbeat.resting);
  }

  /** Whether a member is heard of. */
  isPresent(member: string): boolean {
    return member === this.#environment.member.id || this.#peers.get(member)?.isSuspect === false;
  }

  /** What all members understand that are known: nothing newer may be written or sent. */
  get formats(): Formats {
    const others = [...this.#peers.values()].map(({ heartbeat }) => heartbeat.formats);
    return commonFormats(this.#environment.formats, others);
  }

  /** Where a member is reached; undefined for one that is not known. */
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
    // This process stood still: what the others sent meanwhile is still to be read, and their silence is its own.
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

  /** Hand-overs that have been carried out, or were not in time. */
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
      this.#namesakes.hear(heartbeat);
      return;
    }
    if (this.#pastLives.has(incarnation)) {
      this.#namesakes.hear(heartbeat);
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
    // One of a newer build may say things in another way: then only that it lives.
    const heard =
      heartbeat.format > HEARTBEAT_FORMAT
        ? { ...heartbeat, owned: [], handovers: [], warm: [], resting: [] }
        : heartbeat;
    this.#peers.set(member, { heartbeat: heard, heardMs: nowMs, steadyMs, isSuspect: false });
    if (!isContinued || !saysTheSame(peer.heartbeat, heard)) this.#changed(false);
  }

  /** Makes room for a member: one that is silent need not be remembered. @returns whether there is room */
  #forgetSilent(): boolean {
    for (const [member, { isSuspect }] of this.#peers) {
      if (!isSuspect) continue;
      this.#peers.delete(member);
      return true;
    }
    return false;
  }

  /** Of all that are heard the one that has sent the fewest heartbeats came last. */
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
    const { channel, formats, load, member, version } = this.#environment;
    this.#beat += 1;
    channel.send({
      format: HEARTBEAT_FORMAT,
      member: member.id,
      incarnation: this.#incarnation,
      beat: this.#beat,
      url: member.url,
      version,
      formats,
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
    return [...this.#handovers].map(([partition, { heir }]): Handover => [partition, heir]);
  }

  /** @param isNews whether the others have to hear of it: at once, but once for all of a turn */
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
