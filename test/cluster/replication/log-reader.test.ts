import { describe, expect, it } from 'vitest';
import { logUnavailable } from '#cluster/replication/log-errors.ts';
import { LogReader, type LogReaderOptions } from '#cluster/replication/log-reader.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import { BODY_BYTES_MAX } from '#cluster/replication/record-format.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { StoredMessage, StreamState } from '#cluster/replication/log-stream.ts';
import { numberedEntry } from '#test/support/log-entries.ts';
import { MemoryLink, MemoryStream } from '#test/support/memory-stream.ts';
import { TestClock, settle } from '#test/support/test-clock.ts';

const PARTITION = 1;
const LEASE_MS = 4000;

async function opened(
  stream: MemoryStream,
  clock: TestClock,
  bodyBytesMax = BODY_BYTES_MAX,
): Promise<PartitionLog> {
  return openPartition({
    bodyBytesMax,
    stream: stream.link(),
    partition: PARTITION,
    member: 'm1',
    position: undefined,
    leaseMs: LEASE_MS,
    clock,
    random: systemRandom,
    report: () => {},
  });
}

/** Reads until nothing is left. @returns where it stands then */
async function readAll(stream: MemoryStream, clock: TestClock, position?: LogReaderOptions['position']) {
  const reader = new LogReader({
    stream: stream.link(),
    partition: PARTITION,
    position,
    clock,
    random: systemRandom,
    report: () => {},
  });
  const controller = new AbortController();
  const reading = (async () => {
    for await (const news of reader.read(controller.signal)) expect(news.kind).toBeDefined();
  })();
  await settle();
  const found = reader.position;
  controller.abort();
  await reading;
  return found;
}

/** A server whose copy of one message is damaged, and that delivers it all the same. */
class DamagedCopy extends MemoryLink {
  readonly #sequence: number;

  constructor(stream: MemoryStream, sequence: number) {
    super(stream);
    this.#sequence = sequence;
  }

  override async *follow(first: number, signal: AbortSignal): AsyncGenerator<StoredMessage> {
    for await (const message of super.follow(first, signal)) {
      const bytes = Buffer.from(message.bytes);
      if (message.sequence === this.#sequence) bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
      yield { ...message, bytes };
    }
  }
}

/** A server that delivers each message again behind the next one, as a consumer does whose acknowledgement got lost. */
class RepeatingConsumer extends MemoryLink {
  override async *follow(first: number, signal: AbortSignal): AsyncGenerator<StoredMessage> {
    let before: StoredMessage | undefined;
    for await (const message of super.follow(first, signal)) {
      yield message;
      if (before !== undefined) yield before;
      before = message;
    }
  }
}

/** A stream whose consumer can be lost. */
class LostConsumer extends MemoryLink {
  identity = 'memory';
  #lost = Promise.withResolvers<undefined>();

  lose(): void {
    this.#lost.resolve(undefined);
    this.#lost = Promise.withResolvers();
  }

  override async state(): Promise<StreamState> {
    return { ...(await super.state()), identity: this.identity };
  }

  override async *follow(first: number, signal: AbortSignal): AsyncGenerator<StoredMessage> {
    const { promise } = this.#lost;
    const messages = super.follow(first, signal);
    for (;;) {
      const next = await Promise.race([messages.next(), promise]);
      if (next === undefined) throw logUnavailable('the consumer is gone');
      if (next.done === true) return;
      yield next.value;
    }
  }
}

describe('a record that does not verify while it is followed', () => {
  it('is read from the leader, and every record is delivered once', async () => {
    const clock = new TestClock();
    const stream = new MemoryStream();
    const log = await opened(stream, clock);
    for (let n = 1; n <= 5; n += 1) await log.append(numberedEntry('t/r/main/branch', n));
    const kept: Buffer[] = [];
    const reader = new LogReader({
      stream: new DamagedCopy(stream, 4),
      partition: PARTITION,
      position: undefined,
      clock,
      random: systemRandom,
      report: () => {},
      stored: (_, { bytes }) => kept.push(bytes),
    });
    const controller = new AbortController();
    const told: number[] = [];
    const reading = (async () => {
      for await (const news of reader.read(controller.signal))
        if (news.kind === 'batch') told.push(news.batch.sequence);
    })();
    await settle();
    controller.abort();
    await reading;
    expect(told).toEqual([2, 3, 4, 5, 6]);
    expect(kept).toEqual(stream.messages.map(({ bytes }) => bytes));
  });
});

it('delivers every record once, even if a consumer redelivers it', async () => {
  const clock = new TestClock();
  const stream = new MemoryStream();
  const log = await opened(stream, clock);
  for (let n = 1; n <= 3; n += 1) await log.append(numberedEntry('t/r/main/branch', n));
  const options = {
    partition: PARTITION,
    position: undefined,
    clock,
    random: systemRandom,
    report: () => {},
  };
  const reader = new LogReader({ ...options, stream: new RepeatingConsumer(stream) });
  const controller = new AbortController();
  const told: number[] = [];
  const reading = (async () => {
    for await (const news of reader.read(controller.signal))
      if (news.kind === 'batch') told.push(news.batch.sequence);
  })();
  await settle();
  controller.abort();
  await reading;
  expect(told).toEqual([2, 3, 4]);
});

it('ends when what it reads cannot be kept, also while the leader does not answer', async () => {
  const clock = new TestClock();
  const stream = new MemoryStream();
  const log = await opened(stream, clock);
  await log.append(numberedEntry('t/r/main/branch', 1));
  const link = stream.link();
  const kept: number[] = [];
  const reader = new LogReader({
    stream: link,
    partition: PARTITION,
    position: undefined,
    clock,
    random: systemRandom,
    report: () => {},
    stored: (_, { sequence }) => {
      kept.push(sequence);
      link.isConnected = false;
      throw new Error('the disk is gone');
    },
  });
  const controller = new AbortController();
  let failure: unknown;
  const reading = (async () => {
    for await (const news of reader.read(controller.signal)) expect(news.kind).toBeDefined();
  })().catch((error: unknown) => {
    failure = error;
  });
  await settle();
  // Read again, it would go on behind a message that was not kept.
  expect(failure).toMatchObject({ message: 'the disk is gone' });
  expect(kept).toEqual([1]);
  controller.abort();
  await reading;
});

describe('the time at which a reader received its position', () => {
  it('is the current time after a position without a known time, because the owner may have a lease', async () => {
    const clock = new TestClock();
    const stream = new MemoryStream();
    const log = await opened(stream, clock);
    await log.append(numberedEntry('t/r/main/branch', 1));
    clock.advance(1000);
    const told = await readAll(stream, clock);
    expect(told?.receivedMs).toBe(clock.monotonicMs());
    clock.advance(5000);
    const { chain, epoch, identity, sequence } = told as NonNullable<typeof told>;
    const again = await readAll(stream, clock, { chain, epoch, identity, sequence });
    expect(again?.sequence).toBe(told?.sequence);
    expect(again?.receivedMs).toBe(clock.monotonicMs());
  });

  it('is when it was received where the same process knows it', async () => {
    const clock = new TestClock();
    const stream = new MemoryStream();
    const log = await opened(stream, clock);
    await log.append(numberedEntry('t/r/main/branch', 1));
    const told = await readAll(stream, clock);
    const receivedMs = clock.monotonicMs();
    clock.advance(5000);
    expect((await readAll(stream, clock, told))?.receivedMs).toBe(receivedMs);
  });

  it('is when it is followed again, where servers may have lost what came before', async () => {
    const clock = new TestClock();
    const stream = new MemoryStream();
    const log = await opened(stream, clock);
    await log.append(numberedEntry('t/r/main/branch', 1));
    const receivedMs = new Map<boolean, (number | undefined)[]>();
    for (const isForgetful of [false, true]) {
      const link = new LostConsumer(stream);
      const options = {
        stream: link,
        partition: PARTITION,
        position: undefined,
        clock,
        random: systemRandom,
        isForgetful,
      };
      const reader = new LogReader({ ...options, report: () => {} });
      const controller = new AbortController();
      const reading = (async () => {
        for await (const news of reader.read(controller.signal)) expect(news.kind).toBeDefined();
      })();
      await settle();
      const startedMs = clock.monotonicMs();
      const seen = (): number | undefined => {
        const at = reader.position?.receivedMs;
        return at === undefined ? undefined : at - startedMs;
      };
      const all = [seen()];
      clock.advance(5000);
      link.lose();
      await settle();
      all.push(seen());
      clock.advance(1000);
      await settle();
      all.push(seen());
      receivedMs.set(isForgetful, all);
      controller.abort();
      await reading;
    }
    expect(receivedMs.get(false)).toEqual([0, 0, 0]);
    expect(receivedMs.get(true)).toEqual([0, undefined, 6000]);
  });
});

it('resumes with no other stream of the same name, even if it has the same records', async () => {
  const clock = new TestClock();
  const stream = new MemoryStream();
  const log = await opened(stream, clock);
  await log.append(numberedEntry('t/r/main/branch', 1));
  const link = new LostConsumer(stream);
  const options = { stream: link, partition: PARTITION, position: undefined, clock, random: systemRandom };
  const reader = new LogReader({ ...options, report: () => {} });
  let told: unknown;
  const reading = (async () => {
    for await (const news of reader.read(new AbortController().signal)) expect(news.kind).toBeDefined();
  })().catch((error: unknown) => {
    told = error;
  });
  await settle();
  link.identity = 'another';
  link.lose();
  for (let passed = 0; passed < 15_000; passed += 250) {
    await settle();
    clock.advance(250);
  }
  await settle();
  expect(told).toMatchObject({ code: 'DATA_CORRUPTED' });
  await reading;
});

it('has no position inside a batch, where a resumed reader would miss its beginning', async () => {
  const clock = new TestClock();
  const stream = new MemoryStream();
  const log = await opened(stream, clock, 1000);
  await log.append(numberedEntry('t/r/main/branch', 1, 1500));
  const [opening, beginning, ...rest] = stream.messages;
  expect(rest.length).toBeGreaterThan(0);
  const cut = new MemoryStream();
  cut.messages.push(opening as StoredMessage);
  expect(await readAll(cut, clock)).toMatchObject({ sequence: 1 });
  cut.messages.push(beginning as StoredMessage);
  expect(await readAll(cut, clock)).toBeUndefined();
  expect((await readAll(stream, clock))?.sequence).toBe(stream.messages.length);
});
