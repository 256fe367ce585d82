import {
  type ConsumerConfig,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
} from '@nats-io/jetstream';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';

/**
 * Time within which the member that created a stream must create its consumer, in milliseconds; then others create it.
 */
const MAKER_MS_MAX = 5_000;

/** Time within which the servers must report whether it exists, in milliseconds: they may be electing its leader. */
const ANSWER_MS_MAX = 30_000;

/** Interval of the requests, in milliseconds. */
const POLL_MS = 100;

/**
 * Creates or finds a durable consumer. Only the member that created the stream requests it, once: servers of 2.9 that
 * receive a second request while its leader is being elected may keep the servers of the first placement, so that it
 * lacks a replica, or a leader, when one of those is replaced (seen in 4 of 10 runs that replaced two).
 *
 * @param wanted its settings, with its name; an existing one with other settings is updated
 * @param isMaker whether this member created the stream
 * @throws {Error} of the client when it can be neither found nor created in time
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
