import type { FlushChannel, FlushConfirmation } from '#cluster/replica-durability/flush-channel.ts';
import type { ReplicaStatus, ReplicaStatusChannel } from '#cluster/replica-durability/replica-status.ts';
import { sleep } from '#runtime/base/time/clock.ts';
import type { SimProcess } from './sim-process.ts';
import type { SimRandom } from './sim-random.ts';
import type { SimScheduler } from './sim-scheduler.ts';

/** How long what is said takes at most, in milliseconds. */
const LATENCY_MS_MAX = 5;

/** How late a straggler arrives at most, in milliseconds: in another epoch. */
const STRAGGLE_MS_MAX = 30_000;

/** A member as the others reach it. */
export interface SimPeer {
  /** The process that runs at present. */
  readonly life: SimProcess;
  /** What it says of its side of a partition. */
  status(partition: number): Promise<ReplicaStatus | undefined>;
}

/** What a network works with. */
export interface SimNetworkOptions {
  readonly scheduler: SimScheduler;
  readonly random: SimRandom;
  /** All members, in any state. */
  readonly peers: () => readonly SimPeer[];
  /** Whether something goes wrong now that does with this probability. */
  readonly happens: (probability: number) => boolean;
  /** Whether a process has no connection at present. */
  readonly isCut: (life: SimProcess) => boolean;
}

type Told = (told: FlushConfirmation) => void;
type Asked = () => void;

/** What members tell each other besides the log: late, and when things go wrong lost, twice, and in another epoch. */
export class SimNetwork {
  readonly #options: SimNetworkOptions;
  readonly #told = new Map<SimPeer, Map<number, Set<Told>>>();
  readonly #asked = new Map<SimPeer, Map<number, Set<Asked>>>();

  constructor(options: SimNetworkOptions) {
    this.#options = options;
  }

  /** A new process of a member listens to nothing yet. */
  restart(peer: SimPeer): void {
    this.#told.set(peer, new Map());
    this.#asked.set(peer, new Map());
  }

  /** Tells every member, the one that says it too. */
  send(from: SimPeer, deliver: (to: SimPeer) => void): void {
    const { happens, isCut, peers, random, scheduler } = this.#options;
    if (isCut(from.life)) return;
    for (const to of peers()) {
      const copies = happens(0.05) ? 2 : happens(0.05) ? 0 : 1;
      for (let copy = 0; copy < copies; copy += 1) {
        const delayMs = random.next() * (happens(0.05) ? STRAGGLE_MS_MAX : LATENCY_MS_MAX);
        scheduler.after(delayMs, () => {
          if (!isCut(to.life)) to.life.run(() => deliver(to));
        });
      }
    }
  }

  /** How a member tells, and hears, what is flushed. */
  channelOf(peer: SimPeer): FlushChannel {
    return {
      tell: (partition, confirmation) =>
        this.send(peer, (other) => {
          for (const listener of this.#told.get(other)?.get(partition) ?? []) listener(confirmation);
        }),
      ask: (partition) =>
        this.send(peer, (other) => {
          for (const listener of this.#asked.get(other)?.get(partition) ?? []) listener();
        }),
      onConfirmation: (partition, listener) => added(this.#told.get(peer), partition, listener),
      onRequest: (partition, listener) => added(this.#asked.get(peer), partition, listener),
    };
  }

  /** How a member asks the others where they stand. */
  statusesOf(peer: SimPeer): ReplicaStatusChannel {
    const { happens, isCut, random, scheduler } = this.#options;
    return {
      ask: async (partition, hear, maxMs) => {
        const { life } = peer;
        const enough = Promise.withResolvers<void>();
        let isOver = false;
        const answer = (status: ReplicaStatus): void => {
          scheduler.after(random.next() * LATENCY_MS_MAX, () => {
            if (happens(0.05) || isCut(life)) return;
            life.run(() => {
              if (!isOver && hear(status)) enough.resolve();
            });
          });
        };
        this.send(peer, (other) => {
          if (other !== peer)
            other.status(partition).then(
              (status) => status !== undefined && answer(status),
              () => undefined,
            );
        });
        await Promise.race([enough.promise, sleep(life, maxMs)]);
        isOver = true;
      },
    };
  }
}

function added<Item>(
  listeners: Map<number, Set<Item>> | undefined,
  partition: number,
  item: Item,
): () => void {
  const those = listeners?.get(partition) ?? new Set();
  listeners?.set(partition, those.add(item));
  return () => those.delete(item);
}
