import type { Clock } from '#runtime/base/clock.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { Replica, type ReplicaStore } from './replica.ts';

/**
 * Brings every shard the log still holds entries for up to the end of the log, and releases those entries. Cost
 * follows the retained tail of the log, not what is stored. Being interrupted does no harm.
 *
 * @param isRefused whether an actor depends on a lost part of the log: nothing of it is applied or released
 * @throws {ServiceError} `DATA_CORRUPTED`, and what a shard fails with; no entry is released too early
 */
export async function replayLog(
  log: Log,
  store: ReplicaStore,
  clock: Clock,
  isRefused: (actor: string) => boolean = () => false,
): Promise<void> {
  const pending = log.pending();
  if (pending.size === 0) return;
  const first = Math.min(...[...pending.values()].map((range) => range.first));
  // Those that cannot be brought up to the log: it keeps what it has of them.
  const givenUp = new Set<string>();
  const released = (actor: string, sequence: number): void => {
    if (!isRefused(actor) && !givenUp.has(actor)) log.released(actor, sequence);
  };
  const seen: ReplicaStore = {
    exists: (actor) => !isRefused(actor) && store.exists(actor),
    isMissing: (actor) => store.isMissing?.(actor) === true,
    open: (actor) => store.open(actor),
    create: (actor, sequence) => (isRefused(actor) ? undefined : store.create(actor, sequence)),
    adopt: async (actor, sequence, copy) => {
      if (!isRefused(actor)) await store.adopt(actor, sequence, copy);
    },
    adoptWhole: async (actor, sequence) =>
      !isRefused(actor) && (await store.adoptWhole?.(actor, sequence)) === true,
    missingFork: (target, sequence) =>
      isRefused(target) ? undefined : store.missingFork?.(target, sequence),
    async remove(owner, sequence) {
      try {
        await store.remove(owner, sequence);
      } catch (cause) {
        if (store.putOff?.(owner, sequence, cause) !== true) throw cause;
        givenUp.add(owner);
        return;
      }
      for (const actor of [...givenUp]) if (isUnder(actor, owner)) givenUp.delete(actor);
    },
    ...(store.handling === undefined ? {} : { handling: (actor) => store.handling?.(actor) ?? (() => {}) }),
    giveUp(actor, cause) {
      if (store.giveUp?.(actor, cause) !== true) return false;
      givenUp.add(actor);
      return true;
    },
  };
  const replica = new Replica(seen, clock, released);
  try {
    for await (const record of log.read(first - 1)) await replica.take(record);
    await replica.settle();
    // What remains is of actors that are gone, or in their shards already.
    for (const [actor, { last }] of log.pending()) released(actor, last);
  } finally {
    await replica.abandon();
  }
}
