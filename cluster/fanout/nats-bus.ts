import type { Subscription } from '@nats-io/transport-node';
import { LinkWatch } from '#cluster/nats/link-watch.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { QueueLimits } from '#runtime/base/queues/byte-queue.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { BusHub, type HubEnvironment } from '#runtime/bus/bus-hub.ts';
import type { BranchSubscription, Bus, BusSubscription, SubscribeOptions } from '#runtime/bus/ports.ts';
import { partitionOf } from '#runtime/directory/partition.ts';
import type { Directory } from '#runtime/directory/ports.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import type { BranchEvent, PublishedPosition, RevisionCommitted } from '#runtime/tree/branch-events.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';
import {
  type BusMessage,
  decodeBusMessage,
  encodeBusMessage,
  eventMessages,
  POSITIONS_MAX,
} from './bus-messages.ts';

/** Times of the bus, in milliseconds. */
export interface BusTimes {
  /** Interval of announcements of the positions of recently written branches. */
  readonly announceMs: number;
  /** Time for which a branch is announced after a write. */
  readonly recentMs: number;
  /** Interval at which every followed branch is asked for its position. */
  readonly doubtMs: number;
}

/** A loss is detected after a second while the writer lives, and after a minute otherwise. */
export const busTimes: BusTimes = Object.freeze({ announceMs: 1_000, recentMs: 10_000, doubtMs: 60_000 });

/** Maximum number of announced branches; beyond that the oldest are left to the periodic requests. */
const RECENT_MAX = 10_000;

/** Dependencies of a bus over NATS. */
export interface NatsBusEnvironment extends HubEnvironment {
  readonly sealed: SealedLink;
  readonly subjects: Subjects;
  /** Number of partitions of the cluster. */
  readonly partitions: number;
  /** Default: {@link busTimes}. */
  readonly times?: BusTimes;
}

interface Recent {
  readonly position: PublishedPosition;
  readonly writtenMs: number;
}

/**
 * The bus of a member of a cluster. The owner of a branch sends its events over core NATS, which stores nothing and
 * may lose anything. So every event names the revision it follows, and a subscriber that detects a gap asks the branch.
 * The loss of a last event creates no gap. It is detected by the announcements of the writer, and by periodic requests.
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
  /** Recent removals and their times: they are sent again for a while, because no later event would reveal a loss. */
  readonly #removals = new Map<string, number>();
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

  /** Number of subscriptions at this member. */
  get subscriptions(): number {
    return this.#hub.subscriptions;
  }

  /** Resolves when the servers know the subscription of this bus. */
  ready(): Promise<void> {
    return this.#environment.sealed.connection.flush();
  }

  /**
   * Asks the branches of a partition again whenever its owner changes: the former owner may have written more than it
   * announced.
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
    this.#removals.set(owner, this.#clock.monotonicMs());
    if (this.#removals.size > RECENT_MAX) {
      const [oldest] = this.#removals.keys();
      this.#removals.delete(oldest as string);
    }
    this.#sendRemoved(owner);
    this.#announceLater();
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
      case 'positions':
        for (const [branch, position] of message.positions) this.#hub.hear(branch, position);
        return;
      case 'removed':
        this.#hub.removed(message.owner);
    }
  }

  #remember(branch: ActorId, events: readonly BranchEvent[]): void {
    let position = this.#recent.get(branch)?.position;
    for (const { revision, type } of events) {
      const tip = type === 'RevisionCommitted' ? revision : (position?.tip ?? null);
      position = { head: revision, tip };
    }
    // Moves it behind the others, so that the oldest is first.
    this.#recent.delete(branch);
    this.#recent.set(branch, {
      position: position as PublishedPosition,
      writtenMs: this.#clock.monotonicMs(),
    });
    if (this.#recent.size > RECENT_MAX) {
      const [oldest] = this.#recent.keys();
      this.#recent.delete(oldest as ActorId);
    }
    this.#announceLater();
  }

  #announceLater(): void {
    this.#announcing ??= this.#clock.after(this.#times.announceMs, () => this.#announce());
  }

  #announce(): void {
    this.#announcing?.cancel();
    this.#announcing = undefined;
    const oldestMs = this.#clock.monotonicMs() - this.#times.recentMs;
    const byPartition = new Map<number, (readonly [ActorId, PublishedPosition])[]>();
    for (const [branch, { position, writtenMs }] of this.#recent) {
      const partition = partitionOf(branch, this.#environment.partitions);
      const positions = byPartition.get(partition) ?? [];
      byPartition.set(partition, positions);
      positions.push([branch, position]);
      // It is announced once more after its time, so that a write during an outage is announced at least once.
      if (writtenMs < oldestMs && this.#link.isUp) this.#recent.delete(branch);
    }
    for (const positions of byPartition.values()) {
      for (let start = 0; start < positions.length; start += POSITIONS_MAX) {
        const part = positions.slice(start, start + POSITIONS_MAX);
        const [[branch]] = part as unknown as readonly [readonly [ActorId]];
        this.#send(branch, { kind: 'positions', positions: part });
      }
    }
    for (const [owner, removedMs] of this.#removals) {
      this.#sendRemoved(owner);
      if (removedMs < oldestMs && this.#link.isUp) this.#removals.delete(owner);
    }
    if (this.#recent.size > 0 || this.#removals.size > 0) this.#announceLater();
  }

  #sendRemoved(owner: string): void {
    this.#send(`${owner}/branch`, { kind: 'removed', owner });
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
