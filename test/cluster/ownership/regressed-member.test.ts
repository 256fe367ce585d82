import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { PartitionRole } from '#cluster/ownership/partition-environment.ts';
import { PartitionMember } from '#cluster/ownership/partition-member.ts';
import type { StoredMessage } from '#cluster/replication/log-stream.ts';
import { REGRESSION_CONFIRM_MS, REGRESSION_POLL_MS } from '#cluster/replication/stream-checks.ts';
import { ActorHost } from '#runtime/actor/host/actor-host.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { engineLimits, engineUser as caller } from '#test/support/engine.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const actor = actorId('acme', 'site~1', 'a', 'notes');

let root: string;
/** On the disk that the member uses. */
let disk: FileHandle;
let clock: TestClock;
let stream: MemoryStream;
let roles: PartitionRole[];
/** The only one there is. */
let member: PartitionMember;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'regressed-'));
  disk = await open(join(root, 'pace'), 'a');
  clock = new TestClock();
  stream = new MemoryStream();
  roles = [];
  const folder = join(root, 'actors');
  const store = new ActorStore(folder, [noteActor], clock);
  const observer = { batchDurable() {}, events() {}, stopped() {}, applyFailed() {} };
  member = new PartitionMember({
    partition: 3,
    member: 'a',
    folder: root,
    stream: stream.link(),
    store,
    leaseMs: 4000,
    files: realFileSystem,
    clock,
    random: systemRandom,
    openHost: async (log) => {
      const environment = { folder, store, log, clock, random: systemRandom, kinds: [noteActor] };
      const slices = new SliceScheduler(clock);
      const host = new ActorHost({ ...environment, limits: engineLimits, observer, slices });
      await host.recover();
      return host;
    },
    replicas: { statuses: { ask: async () => {} }, others: () => 0, flush: undefined },
    report: () => {},
    onRole: (role) => roles.push(role),
  });
  expect(await within(member.own())).toBe(true);
  const { host } = member.owned as NonNullable<typeof member.owned>;
  await within(host.create(actor));
  for (const key of ['first', 'second', 'third'])
    await within(host.command(actor, { type: 'Write', key, text: key }, { caller }));
});

afterEach(async () => {
  await within(member.leave());
  await disk.close();
  rmSync(root, { recursive: true, force: true });
});

/** Lets time pass in small steps until something has happened. */
async function within<T>(work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  while (!isOver) await step(20);
  return over;
}

async function step(ms: number): Promise<void> {
  clock.advance(ms);
  await settle();
  // What is on a disk is not only turns of the event loop away: time passes no faster than the disk answers.
  await disk.write('x');
  await disk.datasync();
}

/** Lets so much time pass at most until the member has a role. */
async function become(role: PartitionRole, msMax: number): Promise<void> {
  for (let passedMs = 0; member.role !== role; passedMs += 50) {
    if (passedMs > msMax)
      throw new Error(`it is ${member.role} after ${passedMs} ms, was ${roles.join(' ')}`);
    await step(50);
  }
}

/** The server that leads lacks the last two records. The one that leads after it has them. */
function loseEnd(): void {
  const lost = stream.messages.splice(-2) as StoredMessage[];
  stream.leads.push(() => stream.messages.push(...lost));
}

/** Enough for one look at the stream and what comes with it, too little for two. */
const CONFIRMED_MS = 1.9 * REGRESSION_CONFIRM_MS;

/** Enough for another server to lead, which it is asked for after 15 seconds and up to a tenth of that. */
const MENDED_MS = 60_000;

it('an owner whose log regressed restores what it has once that is confirmed, and goes on', async () => {
  loseEnd();
  const { host } = member.owned as NonNullable<typeof member.owned>;
  const write = host.command(actor, { type: 'Write', key: 'fourth', text: 'fourth' }, { caller });
  write.catch(() => undefined);
  // Looked at once, not as an owner and then as a follower.
  await become('quarantined', CONFIRMED_MS);
  await expect(write).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
  await become('following', MENDED_MS);
  expect(await within(member.own())).toBe(true);
  const notes = await within(member.owned?.host.query(actor, { type: 'ReadAll' }, caller) as Promise<object>);
  expect(Object.keys(notes)).toEqual(['first', 'second', 'third']);
});

it('a follower that has to open a log that regressed does not wait again before its check', async () => {
  await within(member.follow());
  loseEnd();
  await within(member.leave());
  const following = member.follow();
  await step(REGRESSION_POLL_MS);
  await following;
  const owning = member.own();
  await become('quarantined', CONFIRMED_MS);
  expect(await owning).toBe(false);
  await become('following', MENDED_MS);
});

it('a candidate that finds a log that regressed does not wait again before its check', async () => {
  await within(member.follow());
  while (member.sequence < stream.messages.length) await step(20);
  loseEnd();
  const owning = member.own();
  await become('quarantined', CONFIRMED_MS);
  expect(await within(owning)).toBe(false);
  await become('following', MENDED_MS);
});
