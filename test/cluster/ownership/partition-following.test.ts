import { expect, it } from 'vitest';
import { encodeVoters } from '#cluster/replica-durability/voters.ts';
import { FlushedReplica } from '#cluster/replica-durability/flushed-replica.ts';
import { PartitionFollowing } from '#cluster/ownership/partition-following.ts';
import { ShardPositions } from '#cluster/replication/shard-positions.ts';
import { systemClock as clock } from '#runtime/base/time/clock.ts';
import { systemRandom as random } from '#runtime/base/random.ts';
import { Replica } from '#runtime/commit/replica.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { MemoryShardFiles } from '#test/support/memory-shard-files.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { NAMES, openLog, PARTITION as partition, silentFlush } from '#test/support/superseded-log.ts';
import { until } from '#test/support/until.ts';

it('has not caught up before the replica has the records that the flush journal holds back', async () => {
  const stream = new MemoryStream();
  const log = await openLog(stream, 'm2');
  await log.state(encodeVoters({ old: NAMES, new: NAMES }));
  await log.barrier();
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const files = new FaultyFileSystem(() => (isHeld ? gate.promise : turn()));
  const common = { partition, stream: stream.link(), clock, random, report: () => {} };
  const flushed = new FlushedReplica({
    ...common,
    member: 'm1',
    folder: '/partition',
    shards: new ShardPositions(new MemoryShardFiles(), clock, random),
    files,
    onDiskFailure: () => {},
    statuses: { ask: () => Promise.resolve() },
    others: () => 0,
    flush: silentFlush,
  });
  await flushed.open(undefined);
  isHeld = true;
  let caughtUp = 0;
  const failures: unknown[] = [];
  const following = new PartitionFollowing({
    ...common,
    position: undefined,
    flushed,
    // Nothing is written in this log.
    makeReplica: () => new Replica({} as never, clock, () => {}),
    hear: () => {},
    onCaughtUp: () => {
      caughtUp += 1;
    },
    onFailure: (_, cause) => failures.push(cause),
  });
  await until(() => following.sequence === stream.messages.length, 'everything is read');
  for (let turns = 0; turns < 20; turns += 1) await turn();
  expect([caughtUp, failures]).toEqual([0, []]);
  isHeld = false;
  gate.resolve();
  await until(() => caughtUp > 0, 'it has caught up');
  await following.stop();
  await flushed.close();
  expect([caughtUp, failures]).toEqual([1, []]);
});
