import type { Subscription } from '@nats-io/transport-node';
import { LinkWatch } from '#cluster/nats/link-watch.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { QueueLimits } from '#runtime/base/byte-queue.ts';
import type { Clock, Timer } from '#runtime/base/clock.ts';
import { BusHub, type HubEnvironment } from '#runtime/bus/bus-hub.ts';
import type { BranchSubscription, Bus, BusSubscription, SubscribeOptions } from '#runtime/bus/ports.ts';
import { partitionOf } from '#runtime/directory/partition.ts';
import type { Directory } from '#runtime/directory/ports.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import type { BranchEvent, BranchStanding, RevisionCommitted } from '#runtime/tree/branch-events.ts';
import type { NodeChange } from '#runtime/tree/revision-store.ts';
import {
  type BusMessage,
  decodeBusMessage,
  encodeBusMessage,
  eventMessages,
  STANDINGS_MAX,
} from './bus-messages.ts';

/** Times of the bus, in milliseconds. */
export interface BusTimes {
  /** Between two announcements of where branches stand that were written lately. */
  readonly announceMs: number;
  /** How long a branch is announced after it was written. */
  readonly recentMs: number;
  /** Between two rounds in which every branch that is followed is asked where it stands. */
  readonly doubtMs: number;
}

/** What is lost is noticed after a second while its writer lives, and after a minute otherwise. */
export const busTimes: BusTimes = Object.freeze({ announceMs: 1_000, recentMs: 10_000, doubtMs: 60_000 });

/** Branches that are announced at most; a writer of more leaves the oldest to the next round of asking. */
const RECENT_MAX = 10_000;

/** Everything a bus over NATS works with. */
export interface NatsBusEnvironment extends HubEnvironment {
  readonly sealed: SealedLink;
  readonly subjects: Subjects;
  /** Number of partitions of the cluster. */
  readonly partitions: number;
  /** Default: {@link busTimes}. */
  readonly times?: BusTimes;
}

interface Recent {
  readonly standing: BranchStanding;
  readonly writtenMs: number;
}

/**
 * The bus of a member of a cluster. The owner of a branch tells what happened over core NATS, which keeps nothing and
 * may lose anything; so every event says what it follows, and who misses something asks the branch. What nobody would
 * notice, because nothing follows it, is noticed by what the writer announces for a while, and by asking now and then.
 */
export class NatsBus implements Bus {
  readonly #environment: NatsBusEnvironment;
  readonly #clock: Clock;
  readonly #times: BusTimes;
  readonly #hub: BusHub;
  readonly #link: LinkWatch;
  readonly #sender: string;
  readonly #subscription: Subscription;
  readonly #stopWatching: () => void;
  #stopOwners: (() => void) | undefined;
  readonly #recent = new Map<ActorId, Recent>();
  #announcing: Timer | undefined;
  #doubting: Timer;

  constructor(environment: NatsBusEnvironment) {
    const { clock, random, sealed, subjects, times = busTimes } = environment;
    this.#environment = environment;
    this.#clock = clock;
    this.#times = times;
    this.#hub = new BusHub(environment);
    this.#link = new LinkWatch(sealed.connection);
    this.#sender = Buffer.from(random.bytes(8)).toString('hex');
    this.#subscription = sealed.subscribe(subjects.allEvents, ({ data }) => this.#hear(data));
    this.#stopWatching = this.#link.onReturn(() => {
      this.#hub.doubt();
      this.#announce();
    });
    this.#doubting = this.#doubtLater();
  }

  /** How many subscribe here. */
  get subscriptions(): number {
    return this.#hub.subscriptions;
  }

  /** Resolves when the servers know that this bus listens. */
  ready(): Promise<void> {
    return this.#environment.sealed.connection.flush();
  }

  /**
   * Asks the branches of a partition anew whenever it has another owner: the one before may have written more than it
   * told.
   */
  watchOwners(directory: Directory): void {
    const epochs = new Map<number, number>();
    this.#stopOwners?.();
    this.#stopOwners = directory.onChange(() => {
      const changed = new Set<number>();
      for (let partition = 0; partition < directory.partitions; partition++) {
        const epoch = directory.ownerOf(partition)?.epoch;
        if (epoch === undefined || epoch === epochs.get(partition)) continue;
        epochs.set(partition, epoch);
        changed.add(partition);
      }
      if (changed.size > 0) this.#hub.doubt((branch) => changed.has(directory.partitionOf(branch)));
    });
  }

  publish(branch: ActorId, events: readonly BranchEvent[]): void {
    for (const event of events) this.#hub.receive(branch, event);
    const last = events.at(-1);
    if (last === undefined) return;
    this.#remember(branch, events);
    if (!this.#link.isUp) return;
    const subject = this.#subjectOf(branch);
    for (const bytes of eventMessages(this.#sender, branch, events))
      this.#environment.sealed.publish(subject, bytes);
  }

  removed(owner: string): void {
    this.#hub.removed(owner);
    for (const branch of this.#recent.keys()) if (isUnder(branch, owner)) this.#recent.delete(branch);
    this.#send(`${owner}/branch`, { kind: 'removed', owner });
  }

  subscribe(branch: ActorId, options?: SubscribeOptions): Promise<BranchSubscription> {
    return this.#hub.subscribe(branch, options);
  }

  subscribeUnder(owner: string, buffer?: QueueLimits): BusSubscription {
    return this.#hub.subscribeUnder(owner, buffer);
  }

  changes(branch: ActorId, event: RevisionCommitted): AsyncIterable<readonly NodeChange[]> {
    return this.#hub.changes(branch, event);
  }

  async close(): Promise<void> {
    this.#stopWatching();
    this.#stopOwners?.();
    this.#announcing?.cancel();
    this.#doubting.cancel();
    if (!this.#subscription.isClosed()) this.#subscription.unsubscribe();
    this.#hub.close();
  }

  #hear(bytes: Uint8Array): void {
    const sent = decodeBusMessage(bytes);
    if (sent === undefined || sent.sender === this.#sender) return;
    const { message } = sent;
    switch (message.kind) {
      case 'events':
        for (const event of message.events) this.#hub.receive(message.branch, event);
        return;
      case 'standings':
        for (const [branch, standing] of message.standings) this.#hub.hear(branch, standing);
        return;
      case 'removed':
        this.#hub.removed(message.owner);
    }
  }

  #remember(branch: ActorId, events: readonly BranchEvent[]): void {
    let standing = this.#recent.get(branch)?.standing;
    for (const { revision, type } of events) {
      const tip = type === 'RevisionCommitted' ? revision : (standing?.tip ?? null);
      standing = { head: revision, tip };
    }
    // Behind the others, so that the oldest is first.
    this.#recent.delete(branch);
    this.#recent.set(branch, { standing: standing as BranchStanding, writtenMs: this.#clock.monotonicMs() });
    if (this.#recent.size > RECENT_MAX) {
      const [oldest] = this.#recent.keys();
      this.#recent.delete(oldest as ActorId);
    }
    this.#announcing ??= this.#clock.after(this.#times.announceMs, () => this.#announce());
  }

  #announce(): void {
    this.#announcing?.cancel();
    this.#announcing = undefined;
    const oldestMs = this.#clock.monotonicMs() - this.#times.recentMs;
    const byPartition = new Map<number, (readonly [ActorId, BranchStanding])[]>();
    for (const [branch, { standing, writtenMs }] of this.#recent) {
      const partition = partitionOf(branch, this.#environment.partitions);
      const standings = byPartition.get(partition) ?? [];
      byPartition.set(partition, standings);
      standings.push([branch, standing]);
      // It is announced once more after its time, so that one written while nobody heard is announced at all.
      if (writtenMs < oldestMs && this.#link.isUp) this.#recent.delete(branch);
    }
    for (const standings of byPartition.values()) {
      for (let start = 0; start < standings.length; start += STANDINGS_MAX) {
        const part = standings.slice(start, start + STANDINGS_MAX);
        const [[branch]] = part as unknown as readonly [readonly [ActorId]];
        this.#send(branch, { kind: 'standings', standings: part });
      }
    }
    if (this.#recent.size > 0)
      this.#announcing = this.#clock.after(this.#times.announceMs, () => this.#announce());
  }

  #doubtLater(): Timer {
    return this.#clock.after(this.#times.doubtMs, () => {
      this.#hub.doubt();
      this.#doubting = this.#doubtLater();
    });
  }

  #send(branch: ActorId, message: BusMessage): void {
    if (!this.#link.isUp) return;
    this.#environment.sealed.publish(this.#subjectOf(branch), encodeBusMessage(this.#sender, message));
  }

  #subjectOf(branch: ActorId): string {
    const { partitions, subjects } = this.#environment;
    return subjects.events(partitionOf(branch, partitions));
  }
}
