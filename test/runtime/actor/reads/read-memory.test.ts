import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ActorKind, QueryContext } from '#runtime/commit/behaviour.ts';
import { ByteBudget } from '#runtime/budget/byte-budget.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { callers, HostFixture, productKinds } from '#test/support/host-fixture.ts';

const actor = 'default/site~0123456789/jobs';
const MEBIBYTE = 1024 * 1024;

interface Keep {
  readonly bytes: number;
  /** Holds up the answer; absent: it is answered at once. */
  readonly until?: Promise<unknown>;
  readonly fails?: boolean;
  /** Whether the answer is a stream, which keeps the memory while it is read. */
  readonly isStream?: boolean;
}

async function* stream(bytes: number, context: QueryContext): AsyncGenerator<string> {
  const leave = context.stay();
  try {
    // A snapshot that is let go in between.
    const letGo = context.stay();
    context.budget.keep(bytes);
    letGo();
    yield 'one';
    yield 'two';
  } finally {
    leave();
  }
}

function keep({ bytes, fails, isStream, until }: Keep, context: QueryContext): unknown {
  if (isStream === true) {
    // What was tried at once is given up.
    context.budget.keep(bytes);
    context.budget.free(bytes);
    return { chunks: stream(bytes, context) };
  }
  context.budget.keep(bytes);
  const end = (): string => {
    if (fails === true) throw new ServiceError('VALIDATION_FAILED');
    return 'kept';
  };
  return until === undefined ? end() : until.then(end);
}

const [jobs] = productKinds.slice(-1) as [ActorKind];

/** An actor whose queries keep memory. */
const keeping: ActorKind = {
  ...jobs,
  create: (context) => ({
    ...jobs.create(context),
    query: (query: Keep, asked) => keep(query, asked),
  }),
};

let fixture: HostFixture;
const pool = new ByteBudget(10 * MEBIBYTE);

beforeEach(async () => {
  fixture = await HostFixture.open([keeping]);
  const { commit } = fixture.limits;
  fixture.limits = {
    ...fixture.limits,
    commit: { ...commit, request: { workMax: 1e9, memoryMax: 8 * MEBIBYTE, pool } },
  };
  await fixture.reopen();
  await fixture.host.create(actor);
});
afterEach(() => fixture.close());

const ask = (query: Keep): unknown => fixture.host.query(actor, query, callers.admin);

it('reads that hold memory share what there is, and give it back when they are answered or fail', async () => {
  let go = (): void => undefined;
  const until = new Promise<void>((resolve) => {
    go = resolve;
  });
  const first = ask({ bytes: 6 * MEBIBYTE, until });
  const second = ask({ bytes: 4 * MEBIBYTE, until, fails: true });
  expect(() => ask({ bytes: 1 })).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
  expect(pool.used).toBe(10 * MEBIBYTE);
  go();
  expect(await first).toBe('kept');
  await expect(second).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  expect(pool.used).toBe(0);
  for (let time = 0; time < 3; time++) {
    expect(ask({ bytes: 6 * MEBIBYTE })).toBe('kept');
    expect(() => ask({ bytes: 6 * MEBIBYTE, fails: true })).toThrow();
  }
  expect(pool.used).toBe(0);
});

it('streams hold memory from when they are first read until they end or are left', async () => {
  const open = (): AsyncGenerator<string> =>
    (ask({ bytes: 6 * MEBIBYTE, isStream: true }) as { chunks: AsyncGenerator<string> }).chunks;
  const [whole, left, unread] = [open(), open(), open()];
  expect(pool.used).toBe(0);
  expect(await whole.next()).toMatchObject({ value: 'one' });
  expect(pool.used).toBe(6 * MEBIBYTE);
  await expect(left.next()).rejects.toMatchObject({ code: 'OVERLOADED' });
  expect(pool.used).toBe(6 * MEBIBYTE);
  for await (const _ of whole);
  expect(pool.used).toBe(0);
  const later = open();
  await later.next();
  expect(pool.used).toBe(6 * MEBIBYTE);
  await later.return(undefined);
  await unread.return(undefined);
  expect(pool.used).toBe(0);
});
