import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { FlushChannel, FlushConfirmation } from '#cluster/replica-durability/flush-channel.ts';
import type { ReplicaStatusChannel } from '#cluster/replica-durability/replica-status.ts';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import { BatchDecoder } from '#cluster/replication/batch-decoder.ts';
import type { AppendOutcome, LogStream } from '#cluster/replication/log-stream.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { openNoteHost } from '#test/support/note-host.ts';
import { until } from '#test/support/until.ts';

const PARTITION = 3;
const LEASE_MS = 50;

/** The lease a slow candidate waits for: longer than the test looks. */
const LONG_LEASE_MS = 60_000;

let root: string;
let stream: MemoryStream;
let sides: Side[];

/** One member's side of a partition in class `replica-disk`. It can stand still as far as the others can tell. */
class Side {
  readonly name: string;
  readonly member: PartitionMember;
  readonly link = stream.link();
  /** Neither says nor hears anything. */
  isSilent = false;
  /** Tells nobody what it has on its disk. */
  isMute = false;
  /** Called when an append has been stored and is not answered yet. */
  onStored: () => void = () => {};
  readonly #told = new Set<(confirmation: FlushConfirmation) => void>();
  readonly #asked = new Set<() => void>();

  constructor(name: string, leaseMs = LEASE_MS) {
    this.name = name;
    const folder = join(root, name, 'actors');
    const store = new ActorStore(folder, [noteActor], systemClock);
    this.member = new PartitionMember({
      partition: PARTITION,
      member: name,
      folder: join(root, name),
      stream: this.#stream(),
      store,
      leaseMs,
      files: realFileSystem,
      clock: systemClock,
      random: systemRandom,
      openHost: async (log) => {
        const observer = { batchDurable() {}, events() {}, stopped() {}, applyFailed() {} };
        return await openNoteHost({ folder, store, log, observer });
      },
      replicas: {
        statuses: this.#statuses(),
        others: () => this.#others().length,
        flush: {
          channel: this.#channel(),
          votersWanted: () => [name, ...this.#others().map((other) => other.name)],
        },
      },
      report: () => {},
      onRole: () => {},
    });
    sides.push(this);
  }

  /** The newest opening in the log. */
  static opened(): { readonly epoch: number; readonly isClosed: boolean } {
    const decoder = new BatchDecoder(PARTITION);
    for (const message of stream.messages) decoder.take(message);
    return decoder.fold.state;
  }

  #stream(): LogStream {
    const { link } = this;
    return {
      get isConnected() {
        return link.isConnected;
      },
      append: async (expected: number, bytes: Buffer): Promise<AppendOutcome> => {
        const outcome = await link.append(expected, bytes);
        this.onStored();
        return outcome;
      },
      state: () => link.state(),
      fetch: (sequence) => link.fetch(sequence),
      range: (first, last) => link.range(first, last),
      follow: (first, signal) => link.follow(first, signal),
      truncate: (before) => link.truncate(before),
      stepDown: () => link.stepDown(),
    };
  }

  #others(): readonly Side[] {
    return this.isSilent ? [] : sides.filter((side) => side !== this && !side.isSilent);
  }

  #channel(): FlushChannel {
    return {
      tell: (_, confirmation) => {
        if (this.isMute) return;
        for (const other of this.#others()) for (const hear of other.#told) hear(confirmation);
      },
      ask: () => {
        for (const other of this.#others()) for (const hear of other.#asked) hear();
      },
      onConfirmation: (_, listener) => added(this.#told, listener),
      onRequest: (_, listener) => added(this.#asked, listener),
    };
  }

  #statuses(): ReplicaStatusChannel {
    return {
      ask: async (_, hear) => {
        for (const { member } of this.#others()) {
          const status = await member.status();
          if (status !== undefined && hear(status)) return;
        }
        await new Promise((resolve) => setTimeout(resolve, 5));
      },
    };
  }
}

function added<Item>(to: Set<Item>, item: Item): () => void {
  to.add(item);
  return () => to.delete(item);
}

/** Three keep the partition, and its owner stands still. */
async function withoutOwner(first: Side, second: Side): Promise<void> {
  const owner = new Side('a');
  await Promise.all([first.member.follow(), second.member.follow()]);
  expect(await owner.member.own()).toBe(true);
  const isKept = async (): Promise<boolean> =>
    (await first.member.status())?.voters?.old.length === sides.length;
  await until(isKept, 'all three keep it');
  owner.isSilent = true;
  owner.link.isConnected = false;
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'opening-'));
  stream = new MemoryStream();
  sides = [];
});

afterEach(async () => {
  for (const side of sides) {
    side.link.isConnected = true;
    side.isMute = false;
    side.isSilent = false;
    await side.member.leave();
  }
  rmSync(root, { recursive: true, force: true });
});

describe('two candidates in class replica-disk, while the third replica is paused', () => {
  it('one confirms the opening of the other while it waits for the lease itself', async () => {
    const [fast, slow] = [new Side('b'), new Side('c', LONG_LEASE_MS)];
    await withoutOwner(fast, slow);
    // What the slow one says of it as a follower is lost, and it hears of no owner.
    slow.isMute = true;
    void fast.member.own();
    await until(() => slow.member.epoch === 2, 'the slow one has read that the fast one opened it');
    const waiting = slow.member.own();
    await until(() => slow.member.role === 'opening', 'the slow one waits for the lease');
    slow.isMute = false;
    await until(() => fast.member.role === 'owning', 'the fast one owns it');
    expect([slow.member.role, Side.opened().epoch]).toEqual(['opening', fast.member.epoch]);
    slow.member.giveWay();
    expect(await waiting).toBe(false);
  });

  it('a candidate whose opening is not confirmed stops waiting when the other has opened the partition after it', async () => {
    const [first, second] = [new Side('b'), new Side('c')];
    await withoutOwner(first, second);
    second.isMute = true;
    const opened = first.member.own();
    await until(() => Side.opened().epoch === 2, 'the first one has opened it');
    const taken = second.member.own();
    await until(() => first.member.role === 'following', 'the first one follows');
    expect([await opened, await taken]).toEqual([false, true]);
  });

  it('a candidate that has to give way during its opening does so, and leaves no lease to wait for', async () => {
    const [first, second] = [new Side('b'), new Side('c')];
    await withoutOwner(first, second);
    // Nobody confirms what it opens.
    second.isMute = true;
    first.onStored = () => first.member.giveWay();
    const opened = first.member.own();
    await until(() => first.member.role === 'following' && Side.opened().isClosed, 'it gives way');
    expect(await opened).toBe(false);
    expect(Side.opened().epoch).toBe(2);
  });
});
