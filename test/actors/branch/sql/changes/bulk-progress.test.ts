import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import {
  donePart,
  noteBulkPart,
  readBulkProgress,
  removeBulkProgress,
} from '#actors/branch/sql/changes/bulk-progress.ts';
import type { BulkProgress, ChangeSomeBySql } from '#actors/branch/sql-messages.ts';
import { systemRandom, uuidV7 } from '#runtime/base/random.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { jobIdOf } from '#runtime/jobs/job-id.ts';
import { HostFixture } from '#test/support/host-fixture.ts';

const DAY_MS = 24 * 3_600_000;
const actor = 'default/site~0123456789/main~1/branch';

/** An actor that does nothing but keep how far jobs are. */
const keeper: ActorKind = {
  kind: 'branch',
  tables: [],
  create: () => ({
    execute(command: ChangeSomeBySql | { readonly type: 'Forget'; readonly job: string }, turn) {
      if (command.type === 'Forget') return removeBulkProgress(turn, command.job);
      const { ids } = command;
      return donePart(turn, command) ?? noteBulkPart(turn, command, { changed: ids.length - 1, skipped: 1 });
    },
    query: ({ job }: { readonly job: string }, { view }) => readBulkProgress(view, job) ?? null,
  }),
};

let fixture: HostFixture;

beforeEach(async () => {
  fixture = await HostFixture.open([keeper]);
  await fixture.host.create(actor);
});
afterEach(() => fixture.close());

function newJob(ageMs = 0, repository = 'site~0123456789'): string {
  return jobIdOf(uuidV7(Date.now() - ageMs, systemRandom), repository);
}

function send(job: string, part: number, ids = [`${part}a`, `${part}b`, `${part}c`]): Promise<BulkProgress> {
  const command = { type: 'ChangeSomeBySql', sql: '', parameters: [], ids, job, part, total: 30 };
  return fixture.command(actor, command);
}

function read(job: string): BulkProgress | null {
  return fixture.query(actor, { type: 'Read', job } as never);
}

const after = (parts: number): BulkProgress => ({
  parts,
  total: 30,
  done: 3 * parts,
  after: `${parts}c`,
  changed: 2 * parts,
  skipped: parts,
});

it('parts are done once and in order, in whatever order and however often they are sent', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 20 }), async (sent) => {
      const job = newJob();
      let done = 0;
      for (const part of sent) {
        if (part > done + 1) {
          await expect(send(job, part)).rejects.toMatchObject({ code: 'CONFLICT' });
        } else {
          done = Math.max(done, part);
          expect(await send(job, part)).toEqual(after(done));
        }
        expect(read(job)).toEqual(done === 0 ? null : after(done));
      }
    }),
    { numRuns: 30 },
  );
});

it('the number of matched nodes is that which the first part has told', async () => {
  const job = newJob();
  await send(job, 1);
  const command = { type: 'ChangeSomeBySql', sql: '', parameters: [], ids: ['2c'], job, part: 2, total: 7 };
  expect(await fixture.command(actor, command)).toMatchObject({ parts: 2, total: 30 });
});

it('the job of a restored repository goes on where it was', async () => {
  const job = newJob();
  await send(job, 1);
  const restored = jobIdOf(job, 'site~abcdefabcd');
  expect(restored).not.toBe(job);
  expect(await send(restored, 2)).toEqual(after(2));
});

it('a job does not begin that is so old that its progress may have been removed', async () => {
  const old = newJob(30 * DAY_MS + 60_000);
  await expect(send(old, 1)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  const younger = newJob(30 * DAY_MS - 60_000);
  expect(await send(younger, 1)).toEqual(after(1));
});

it('the progress of a few very old jobs is removed at a time', async () => {
  const clock = Date.now;
  const old = Array.from({ length: 10 }, () => newJob(20 * DAY_MS));
  for (const job of old) await send(job, 1);
  try {
    await fixture.reopen(() => {
      Date.now = () => clock() + 12 * DAY_MS;
    });
    await send(newJob(), 1);
    expect(old.filter((job) => read(job) !== null)).toHaveLength(2);
    await send(newJob(), 1);
    expect(old.filter((job) => read(job) !== null)).toEqual([]);
  } finally {
    Date.now = clock;
  }
});

it('progress is removed on request, and of very old jobs when another one begins', async () => {
  const clock = Date.now;
  const [forgotten, ended, kept] = [newJob(), newJob(20 * DAY_MS), newJob(5 * DAY_MS)];
  for (const job of [forgotten, ended, kept]) await send(job, 1);
  await fixture.command(actor, { type: 'Forget', job: forgotten } as { type: string });
  expect([forgotten, ended, kept].map((job) => read(job) !== null)).toEqual([false, true, true]);
  try {
    // The process does not see the clock go on: it starts anew on a later day.
    await fixture.reopen(() => {
      Date.now = () => clock() + 12 * DAY_MS;
    });
    await send(kept, 2);
    expect(read(ended)).not.toBeNull();
    await send(newJob(), 1);
    expect([ended, kept].map((job) => read(job) !== null)).toEqual([false, true]);
  } finally {
    Date.now = clock;
  }
});
