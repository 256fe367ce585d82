import { expect, it } from 'vitest';
import type { NatsConnection } from '@nats-io/transport-node';
import { LogWatch } from '#server/status/log-watch.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { SpaceGate } from '#runtime/space/space-gate.ts';
import { silentLog } from '#runtime/telemetry/log-context.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const HOUR_MS = 3_600_000;

/** Watches logs nothing was read of yet; `open` is what a member does that takes a partition. */
function watching() {
  const clock = new TestClock();
  const watch = new LogWatch({
    connection: {} as NatsConnection,
    subjects: new Subjects('watched'),
    monitorUrls: [],
    gate: new SpaceGate(
      { lowMark: 0.8 } as never,
      () => undefined,
      () => undefined,
    ),
    clock,
    log: silentLog,
  });
  const moment = () => ({ monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() });
  const stream = { fetch: () => Promise.resolve(undefined) } as unknown as LogStream;
  const open = () => {
    const log = {
      newestStored: { sequence: 1, sent: moment(), seen: moment() },
      ended: new ServiceError('SHUTTING_DOWN'),
    };
    return watch.clockOf(3, log as unknown as PartitionLog, stream);
  };
  return { clock, open, watch };
}

it('remembers the steps of the clock when a log is opened again', async () => {
  const { clock, open } = watching();
  const { steps } = await open();
  const keptAt = steps.now();
  clock.advance(1_000);
  clock.setWall(clock.wallMs() + 48 * HOUR_MS);
  const again = (await open()).steps;
  expect(again.ageMs(keptAt, again.now())).toBe(1_000);
});

it('sees the steps of the clock while others write the log', async () => {
  const { clock, open, watch } = watching();
  await open();
  watch.start();
  await settle();
  clock.advance(HOUR_MS);
  await settle();
  const keptByAnother = clock.wallMs();
  clock.advance(1_000);
  await settle();
  clock.setWall(clock.wallMs() + 48 * HOUR_MS);
  const { steps } = await open();
  expect(steps.ageMs(keptByAnother, steps.now())).toBe(1_000);
  watch.stop();
});
