import {
  type ConsumerConfig,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
} from '@nats-io/jetstream';
import { type Clock, sleep } from '#runtime/base/clock.ts';

/** Time the member that made a stream has to make its consumer too, in milliseconds; then others make it. */
const MAKER_MS_MAX = 5_000;

/** Time the servers have to say whether there is one, in milliseconds: they may be electing who leads it. */
const ANSWER_MS_MAX = 30_000;

/** Between two questions, in milliseconds. */
const POLL_MS = 100;

/**
 * Makes a durable consumer, or finds it. It is asked for once, by whoever made the stream: servers of 2.9 that are
 * asked again while its leader is being elected may keep to the servers it was placed on then, so that it lacks a
 * replica, or a leader, when one of those is replaced (seen in 4 of 10 runs that replaced two).
 *
 * @param wanted its settings, with its name; one that has others gets these
 * @param isMaker whether this member made the stream
 * @throws {Error} of the client when it cannot be found and not be made in time
 */
export async function ensureTicketConsumer(
  manager: JetStreamManager,
  stream: string,
  wanted: Partial<ConsumerConfig> & { readonly durable_name: string },
  isMaker: boolean,
  clock: Clock,
): Promise<void> {
  const startedMs = clock.monotonicMs();
  const makeMs = startedMs + (isMaker ? 0 : MAKER_MS_MAX);
  for (;;) {
    const found = await manager.consumers.info(stream, wanted.durable_name).catch((error: Error) => error);
    const nowMs = clock.monotonicMs();
    if (!(found instanceof Error)) {
      if (!hasSettings(found.config, wanted)) await manager.consumers.add(stream, wanted);
      return;
    }
    if (isMissing(found)) {
      if (nowMs >= makeMs) {
        await manager.consumers.add(stream, wanted);
        return;
      }
    } else if (nowMs >= startedMs + ANSWER_MS_MAX) throw found;
    await sleep(clock, POLL_MS);
  }
}

function isMissing(error: Error): boolean {
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.ConsumerNotFound;
}

function hasSettings(found: ConsumerConfig, wanted: Partial<ConsumerConfig>): boolean {
  return Object.entries(wanted).every(([key, value]) => found[key as keyof ConsumerConfig] === value);
}
