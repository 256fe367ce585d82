import type { Clock } from '#runtime/base/time/clock.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { Replica, type ReplicaStore } from './replica.ts';

/**
 * Applies the log to every shard it still holds entries for, and releases those entries. The cost depends on the
 * retained log, not on the stored data. An interruption does no harm.
 *
 * @param isRefused whether an actor depends on a lost part of the log; its entries are not applied or released
 * @throws {ServiceError} `DATA_CORRUPTED`, and the errors of a shard; no entry is released too early
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
  // Actors that could not be brought up to date; the log keeps their entries.
  const givenUp = new Set<string>();
  const released = (actor: string, sequence: number): void => {
    if (!isRefused(actor) && !givenUp.has(actor)) log.released(actor, sequence);
  };
  const seen: ReplicaStore = {
    exists: (actor) => !isRefused(actor) && store.exists(actor),
    isMissing: (actor) => store.isMissing?.(actor) === true,
    createdAt: (actor) => store.createdAt?.(actor) ?? 0,
    isOver: (actor, sequence) => store.isOver?.(actor, sequence) === true,
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
    // The remaining entries belong to removed actors, or are already in their shards.
    for (const [actor, { last }] of log.pending()) released(actor, last);
  } finally {
    await replica.abandon();
  }
}
