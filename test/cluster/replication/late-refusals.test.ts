import { beforeEach, describe, expect, it } from 'vitest';
import type { AppendOutcome, StreamState } from '#cluster/replication/log-stream.ts';
import { openPartition, type PartitionLog } from '#cluster/replication/partition-log.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { numberedEntry } from '#test/support/log-entries.ts';
import { MemoryLink, MemoryStream } from '#test/support/memory-stream.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

/** A stream that changes its leader when it is asked to, and does not store what a test answers itself. */
class AnsweredLink extends MemoryLink {
  leader = 1;
  /** Answers of the next appends; undefined is for those that it stores then. */
  readonly given: Promise<AppendOutcome | undefined>[] = [];
  /** The leader that each append was sent to. */
  readonly sentTo: number[] = [];

  override async state(): Promise<StreamState> {
    return { ...(await super.state()), leader: `s${this.leader}` };
  }

  override async append(expected: number, bytes: Buffer): Promise<AppendOutcome> {
    this.sentTo.push(this.leader);
    return (await this.given.shift()) ?? super.append(expected, bytes);
  }

  override async stepDown(): Promise<void> {
    this.leader += 1;
  }
}

let clock: TestClock;
let link: AnsweredLink;
let log: PartitionLog;
/** Numbers of the entries that were acknowledged. */
let done: number[];
/** Numbers of those that were not. */
let rejected: number[];
/** The answer that comes late. */
let late: PromiseWithResolvers<AppendOutcome>;

beforeEach(async () => {
  clock = new TestClock();
  link = new AnsweredLink(new MemoryStream());
  done = [];
  rejected = [];
  late = Promise.withResolvers();
  log = await openPartition({
    stream: link,
    partition: 1,
    member: 'm1',
    position: undefined,
    leaseMs: 4000,
    clock,
    random: systemRandom,
    report: () => {},
  });
  link.sentTo.length = 0;
});

async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 50) {
    clock.advance(50);
    await settle();
  }
}

/** Appends an entry, in a record of its own. @param answer default: that of the stream */
async function append(number: number, answer?: Promise<AppendOutcome | undefined>): Promise<void> {
  if (answer !== undefined) link.given.push(answer);
  log.append(numberedEntry('a', number)).then(
    () => done.push(number),
    () => rejected.push(number),
  );
  await settle();
}

function refuse(): void {
  late.resolve({ kind: 'unknown', reason: 'this server is full', isRefused: true });
}

describe('a leader that refuses an append for its own want of space, and answers late', () => {
  /** The first append has no answer, and the refused one behind it none yet. A further epoch replaces both. */
  async function replaceBoth(): Promise<void> {
    const lost = Promise.withResolvers<AppendOutcome>();
    await append(1, lost.promise);
    await append(2, late.promise);
    lost.resolve({ kind: 'unknown', reason: 'no answer' });
    await pass(500);
    expect(log.epoch).toBe(2);
    expect(done).toEqual([1, 2]);
    link.sentTo.length = 0;
  }

  it('leads no longer before the next append, although a further epoch replaced the refused one', async () => {
    await replaceBoth();
    refuse();
    await append(3);
    await pass(500);
    expect(done).toEqual([1, 2, 3]);
    expect(link.sentTo).toEqual([2]);
  });

  it('leads no longer when the appends that were sent meanwhile are answered', async () => {
    await replaceBoth();
    const slow = Promise.withResolvers<undefined>();
    await append(3, slow.promise);
    refuse();
    await append(4);
    await pass(500);
    expect(link.leader).toBe(1);
    slow.resolve(undefined);
    await pass(500);
    expect(done).toEqual([1, 2, 3, 4]);
    expect(link.sentTo).toEqual([1, 2]);
  });

  it('gets no record that ends the ownership either', async () => {
    await replaceBoth();
    refuse();
    await settle(1);
    void log.close();
    await pass(500);
    expect(link.sentTo).toEqual([2]);
  });

  it('leads no longer when the stream had no space for the append before', async () => {
    const full = Promise.withResolvers<AppendOutcome>();
    await append(1, full.promise);
    await append(2, late.promise);
    refuse();
    full.resolve({ kind: 'full', reason: 'maximum bytes exceeded' });
    await settle();
    expect(rejected).toEqual([1, 2]);
    link.sentTo.length = 0;
    await append(3);
    await pass(500);
    expect(done).toEqual([3]);
    expect(link.sentTo).toEqual([2]);
  });
});
