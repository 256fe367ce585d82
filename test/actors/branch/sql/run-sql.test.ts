import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchQuery, TextStream } from '#actors/branch/messages.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { chunkText } from '#test/support/chunk-text.ts';
import {
  administrator,
  type BranchFixture,
  openBranch,
  WORKSPACE as workspace,
} from '#test/support/branch-fixture.ts';

function sqlOf(sql: string, ...parameters: []): BranchQuery {
  return { type: 'RunSql', sql, parameters };
}

const NODES = 400;

let branch: BranchFixture;
/** The same nodes where no slice ever ends. */
let quick: BranchFixture;
/** The same nodes where each step of a read is a slice of its own. */
let slow: BranchFixture;

beforeAll(async () => {
  let nowMs = 0;
  branch = await openBranch();
  slow = await openBranch({ slicesClock: { ...systemClock, monotonicMs: () => (nowMs += 100) } });
  quick = await openBranch({ slicesClock: { ...systemClock, monotonicMs: () => 0 } });
  for (const each of [branch, slow, quick])
    await each.command({
      type: 'CommitOperations',
      workspace,
      commit: { message: 'many' },
      operations: Array.from({ length: NODES }, (_, index) => ({
        type: 'create',
        parentPath: '/',
        node: {
          name: `n${String(index).padStart(4, '0')}`,
          nodeType: 'svc:Page',
          properties: { title: `t${index}`, text: 'x'.repeat(1_000) },
        },
      })),
    });
});

afterAll(async () => {
  await branch.close();
  await slow.close();
  await quick.close();
});

async function textOf(answer: unknown): Promise<string> {
  if (answer instanceof JsonText) return answer.text;
  let text = '';
  for await (const chunk of (answer as TextStream).chunks) text += chunkText(chunk);
  return text;
}

describe('the answer to statements', () => {
  it('is one text where it is short, and a stream where it is long', async () => {
    const short = quick.ask(sqlOf(`SELECT name FROM '${workspace}' ORDER BY name LIMIT 2`));
    expect(short).toBeInstanceOf(JsonText);
    expect((short as JsonText).parse()).toEqual({
      columns: ['name'],
      rows: [{ name: 'n0000' }, { name: 'n0001' }],
      row_count: 2,
      execution_time_ms: expect.any(Number),
    });
    const long = quick.ask(sqlOf(`SELECT name, properties FROM '${workspace}' ORDER BY name`));
    expect(long).not.toBeInstanceOf(JsonText);
    const { row_count: count, rows } = JSON.parse(await textOf(long));
    expect(count).toBe(NODES);
    expect(rows.map(({ name }: { name: string }) => name)).toEqual(
      Array.from({ length: NODES }, (_, index) => `n${String(index).padStart(4, '0')}`),
    );
  });

  it('is the same when every step is a slice of its own, and shows the state with which it began', async () => {
    const sql = `SELECT a.name, COUNT(*) AS n FROM '${workspace}' a JOIN '${workspace}' b ON a.name >= b.name GROUP BY a.name ORDER BY n LIMIT 3`;
    const answer = slow.ask(sqlOf(sql)) as TextStream;
    const reading = answer.chunks[Symbol.asyncIterator]();
    const first = reading.next();
    await slow.command({ type: 'DeleteNode', workspace, place: { path: '/n0000' } });
    let text = chunkText((await first).value as string);
    for (let step = await reading.next(); step.done !== true; step = await reading.next())
      text += chunkText(step.value);
    expect(JSON.parse(text).rows).toEqual([
      { name: 'n0000', n: 1 },
      { name: 'n0001', n: 2 },
      { name: 'n0002', n: 3 },
    ]);
    await slow.create('/n0000', { title: 't0', text: 'x'.repeat(1_000) }, 'svc:Page');
  });

  it('is the error where that comes before the first chunk, also after some slices', async () => {
    const failing = sqlOf(`SELECT COUNT(*) AS a FROM '${workspace}'; SELECT 1 / (1 - 1) AS x`);
    expect(() => quick.ask(failing)).toThrow(/^statement 2: Division by zero/);
    const answer = slow.ask(failing) as TextStream;
    await expect(answer.chunks[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(/^statement 2: Division by zero/),
    });
  });

  it('ends with the error where that comes later', async () => {
    const sql = `SELECT a.properties, 1 / (399 - (SUBSTRING(b.name, 2))::INT) AS x FROM '${workspace}' b CROSS JOIN '${workspace}' a`;
    const answer = quick.ask(sqlOf(sql)) as TextStream;
    const reading = answer.chunks[Symbol.asyncIterator]();
    expect(chunkText((await reading.next()).value as string)).toMatch(
      /^\{"columns":\["properties","x"\],"rows":\[/,
    );
    await expect(
      (async () => {
        while ((await reading.next()).done !== true);
      })(),
    ).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });

  it.each([
    ['its end', async (chunks: AsyncIterator<unknown>) => void (await drain(chunks))],
    ['the client leaves', async (chunks: AsyncIterator<unknown>) => void (await chunks.return?.())],
  ])('keeps no reader of the store after %s', async (_name, end) => {
    const chunks = (
      branch.ask(
        sqlOf(`SELECT a.properties FROM '${workspace}' a JOIN '${workspace}' b ON a.id = b.id`),
      ) as TextStream
    ).chunks[Symbol.asyncIterator]();
    await chunks.next();
    expect(await branch.openReaders()).not.toEqual([]);
    await end(chunks);
    await expect.poll(() => branch.openReaders()).toEqual([]);
  });
});

async function drain(chunks: AsyncIterator<unknown>): Promise<void> {
  while ((await chunks.next()).done !== true);
}

describe('a long statement', () => {
  const endless = `SELECT COUNT(*) AS n FROM '${workspace}' a CROSS JOIN '${workspace}' b CROSS JOIN '${workspace}' c WHERE a.name || b.name > c.name`;

  it('stops when its client goes away [SQL-060]', async () => {
    const leaving = new AbortController();
    const answer = branch.ask(sqlOf(endless), { ...administrator, signal: leaving.signal }) as TextStream;
    const first = answer.chunks[Symbol.asyncIterator]().next();
    setImmediate(() => leaving.abort());
    await expect(first).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
    await expect.poll(() => branch.openReaders()).toEqual([]);
  });

  it('stops when its time is over [SQL-060]', async () => {
    const deadlineMs = systemClock.monotonicMs() + 50;
    const asking = branch.query(sqlOf(endless), { ...administrator, deadlineMs });
    await expect(asking).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    await expect.poll(() => branch.openReaders()).toEqual([]);
  });

  it('counts every property that it looks for', async () => {
    const some = await openBranch({ workMax: 40_000_000 });
    try {
      await some.command({
        type: 'CommitOperations',
        workspace,
        commit: { message: 'many' },
        operations: Array.from({ length: NODES }, (_, index) => ({
          type: 'create',
          parentPath: '/',
          node: { name: `n${index}`, nodeType: 'svc:Folder', properties: {} },
        })),
      });
      const conditions = Array.from({ length: 280 }, (_, key) => `properties->>'k${key}' IS NULL`);
      const asking = some.query(
        sqlOf(`SELECT COUNT(*) AS n FROM '${workspace}' WHERE ${conditions.join(' AND ')}`),
      );
      await expect(asking).rejects.toMatchObject({ code: 'REQUEST_TOO_EXPENSIVE' });
    } finally {
      await some.close();
    }
  });

  it('is refused when it takes too much work [SQL-060]', async () => {
    const poor = await openBranch({ workMax: 20_000_000 });
    try {
      const sql =
        'WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT COUNT(*) AS n FROM t';
      await expect(poor.query(sqlOf(sql))).rejects.toMatchObject({ code: 'REQUEST_TOO_EXPENSIVE' });
    } finally {
      await poor.close();
    }
  });
});

describe('lending a branch', () => {
  it('is for the engine only', () => {
    expect(() => branch.ask({ type: 'LendBranch', principal: administrator.principal })).toThrow(
      expect.objectContaining({ code: 'FORBIDDEN' }),
    );
  });
});
