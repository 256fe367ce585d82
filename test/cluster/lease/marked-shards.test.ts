import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PartitionMember } from '#cluster/lease/partition-member.ts';
import { BatchDecoder, type LogBatch } from '#cluster/replication/batch-decoder.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { CATALOGUE } from '#runtime/actor/actor-catalogue.ts';
import { ActorHost } from '#runtime/actor/actor-host.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/actor-store.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { realFileSystem } from '#runtime/base/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/slice-scheduler.ts';
import { shardPath } from '#runtime/shard/shard-identity.ts';
import { type StoredHead, storedHead } from '#runtime/shard/stored-head.ts';
import { engineLimits, engineUser as caller } from '#test/support/engine.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { shardBeforeMarks } from '#test/support/shard-before-marks.ts';
import { until } from '#test/support/until.ts';

const PARTITION = 3;
const actor = actorId('acme', 'site~1', 'a', 'notes');

let root: string;
let stream: MemoryStream;
let sides: Side[];

/** One member's side of a partition in class `quorum`; the others do not answer. */
class Side {
  readonly folder: string;
  readonly member: PartitionMember;
  readonly events: LogEvent[] = [];

  constructor(name: string) {
    this.folder = join(root, name);
    const actors = join(this.folder, 'actors');
    this.member = new PartitionMember({
      partition: PARTITION,
      member: name,
      folder: this.folder,
      stream: stream.link(),
      store: new ActorStore(actors, [noteActor], systemClock),
      leaseMs: 50,
      files: realFileSystem,
      clock: systemClock,
      random: systemRandom,
      openHost: async (log) => {
        const observer = { batchDurable() {}, events() {}, stopped() {}, applyFailed() {} };
        const environment = {
          folder: actors,
          log,
          clock: systemClock,
          random: systemRandom,
          kinds: [noteActor],
        };
        const slices = new SliceScheduler(systemClock);
        const host = new ActorHost({ ...environment, limits: engineLimits, observer, slices });
        await host.recover();
        return host;
      },
      replicas: { standings: { ask: async () => {} }, others: () => 0, flush: undefined },
      report: (event) => this.events.push(event),
      onRole: () => {},
    });
    sides.push(this);
  }

  get host(): ActorHost {
    return (this.member.owned as NonNullable<typeof this.member.owned>).host;
  }

  get head(): StoredHead | undefined {
    return storedHead(
      shardPath(new ActorStore(join(this.folder, 'actors'), [noteActor], systemClock).folders.of(actor)),
    );
  }

  write(key: string): Promise<unknown> {
    return this.host.command(actor, { type: 'Write', key, text: key }, { caller });
  }

  async keys(): Promise<string[]> {
    return Object.keys((await this.host.query(actor, { type: 'ReadAll' }, caller)) as object);
  }

  /** Everything it has in its log is in the shard. */
  async applied(): Promise<void> {
    const { log } = this.member.owned as NonNullable<typeof this.member.owned>;
    await until(() => log.pending().size === 0, 'the shard has everything');
  }

  /** What its disk has, as it is. @param isNamed whether the catalogue is there as well */
  copyTo(name: string, isNamed = true): void {
    cpSync(join(this.folder, 'actors'), join(root, name, 'actors'), {
      recursive: true,
      filter: (path) => !path.endsWith('lock.mdb') && (isNamed || !path.includes(CATALOGUE)),
    });
  }

  /** The position as it is stored, for a copy that is made later. */
  copyPositionTo(name: string): void {
    cpSync(join(this.folder, 'position.json'), join(root, name, 'position.json'));
  }
}

/** Every batch of the log. */
function batches(): LogBatch[] {
  const decoder = new BatchDecoder(PARTITION);
  return stream.messages.flatMap((message) => {
    const step = decoder.take(message);
    return step.kind === 'batch' ? [step.batch] : [];
  });
}

/** One that has an actor with a note, and its position stored; what it writes from now on is not behind that. */
async function owner(name: string): Promise<Side> {
  const first = new Side(name);
  await first.member.own();
  await first.host.create(actor);
  await first.write('first');
  await first.member.leave();
  const again = new Side(name);
  await again.member.own();
  return again;
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'marked-shards-'));
  stream = new MemoryStream();
  sides = [];
});

afterEach(async () => {
  for (const { member } of sides) await member.leave();
  rmSync(root, { recursive: true, force: true });
});

it('say the same record of the log at its owner and at a follower', async () => {
  const a = await owner('a');
  const b = new Side('b');
  await b.member.follow();
  await a.write('second');
  await a.member.leave();
  await until(() => b.member.isGivenUp, 'the follower has everything');
  await b.member.leave();
  const { mark, sequence } = batches().at(-1) as LogBatch;
  for (const { head } of [a, b]) expect(head).toMatchObject({ sequence, mark });
});

it('ahead of the stored position keep a member from a log that has another record in that place', async () => {
  const a = await owner('a');
  a.copyPositionTo('copy');
  const { length } = stream.messages;
  await a.write('lost by the servers');
  await a.applied();
  a.copyTo('copy');
  stream.messages.length = length;
  const b = new Side('b');
  await b.member.own();
  for (const key of ['in its place', 'behind it']) await b.write(key);
  const copy = new Side('copy');
  await copy.member.follow();
  await until(() => copy.member.role === 'quarantined', 'the loss is noticed');
  expect(copy.member.trouble).toMatch(/is another than this member has/);
});

it('are made anew where one of them has another record than the log, in the same place', async () => {
  const a = await owner('a');
  a.copyPositionTo('copy');
  const { length } = stream.messages;
  for (const key of ['of another log', 'behind that']) await a.write(key);
  await a.applied();
  // Nothing but the shard itself says so.
  a.copyTo('copy', false);
  stream.messages.length = length;
  const { sequence } = a.head as StoredHead;
  const b = new Side('b');
  await b.member.own();
  while ((batches().at(-1)?.sequence ?? 0) < sequence) await b.write('of this log');
  expect(batches().at(-1)?.sequence).toBe(sequence);
  await b.member.leave();
  const copy = new Side('copy');
  await copy.member.follow();
  await until(() => copy.member.isGivenUp, 'everything is there');
  expect(copy.events).toContainEqual(expect.objectContaining({ kind: 'shards-failed', isDamaged: true }));
  expect(await copy.member.own()).toBe(true);
  expect((await copy.keys()).sort()).toEqual(['first', 'of this log']);
});

it('of the version before marks are gone on with, and have one from the next record on', async () => {
  const a = await owner('a');
  await a.write('second');
  while (stream.messages.length < 7) await a.write('more');
  await a.member.leave();
  const position = join(a.folder, 'position.json');
  const decoder = new BatchDecoder(PARTITION);
  for (const message of stream.messages.slice(0, 7)) decoder.take(message);
  const { chain, epoch } = decoder.fold.state;
  writeFileSync(
    position,
    JSON.stringify({ format: 1, identity: 'memory', sequence: 7, epoch, chain: chain.toString('hex') }),
  );
  rmSync(join(a.folder, 'actors', CATALOGUE), { recursive: true, force: true });
  writeFileSync(shardPath(join(a.folder, 'actors', ...actor.split('/'))), shardBeforeMarks());
  const again = new Side('a');
  expect(await again.member.own()).toBe(true);
  await again.write('after');
  expect(await again.keys()).toContain('after');
  await again.member.leave();
  const { mark, sequence } = batches().at(-1) as LogBatch;
  expect(again.head).toMatchObject({ sequence, mark });
});

it('are made anew where nobody can say how far they reach', async () => {
  const a = await owner('a');
  await a.write('second');
  await a.applied();
  await a.member.leave();
  writeFileSync(join(a.folder, 'actors', CATALOGUE, 'data.mdb'), Buffer.alloc(8192, 1));
  const again = new Side('a');
  expect(await again.member.own()).toBe(true);
  expect(await again.keys()).toEqual(['first', 'second']);
  expect(again.events).toContainEqual(expect.objectContaining({ kind: 'shards-failed', isDamaged: true }));
});
