import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import type { OutsideConsumer } from '#runtime/feed/consumer.ts';
import { readConsumer } from '#runtime/feed/consumer-store.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import { TENANT } from '#test/support/engine.ts';
import { FedBranch } from '#test/support/fed-branch.ts';
import { byKey, FileConsumer, PathTally, pathsAt } from '#test/support/feed-consumers.ts';
import { callers } from '#test/support/host-fixture.ts';
import { BRANCH, CONTENT } from '#test/support/test-branch.ts';
import { until } from '#test/support/until.ts';

const FORK = actorId(TENANT, 'site~1', 'fork~1', 'branch');

/** Creates nodes in one commit. */
function creates(count: number, prefix: string): object[] {
  return Array.from({ length: count }, (_, index) => ({
    type: 'create',
    parentPath: '/',
    node: { name: `${prefix}${index}`, nodeType: 'test:Article', properties: { title: 't' } },
  }));
}

/** Its rows are those of the head, and it has seen each node so often. */
function requireTally(reader: TableReader, tally: PathTally, seen?: number): void {
  const rows = [...tally.rows(reader)].sort(byKey);
  const head = formatRevision(readBranchHead(reader).head);
  expect(new Map(rows.map(([key, { path }]) => [key, path]))).toEqual(pathsAt(reader, head));
  if (seen !== undefined) expect(rows.filter(([, row]) => row.seen !== seen)).toEqual([]);
}

describe('consumers of a feed', () => {
  let folder: string;
  let fed: FedBranch | undefined;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'feed-'));
  });
  afterEach(async () => {
    await fed?.close();
    fed = undefined;
    rmSync(folder, { recursive: true, force: true });
  });

  it('with rows in the branch see each change once, also those of entries that take several commits', async () => {
    const tally = new PathTally();
    fed = await FedBranch.open(folder, [tally]);
    await fed.settled();
    await fed.commit(creates(2_300, 'n'));
    const one = await fed.branch.create('/one');
    await fed.settled();
    fed.look((reader) => requireTally(reader, tally, 1));
    const rename = { type: 'RenameNode', workspace: CONTENT, place: { path: '/one' }, newName: 'two' };
    await fed.tell(rename);
    await fed.tell({ type: 'MoveHead', revision: one.revision });
    await fed.settled();
    fed.look((reader) => {
      requireTally(reader, tally);
      const state = readConsumer(reader, 'tally');
      expect(state).toMatchObject({ state: { starts: ['new'] } });
      // Three parts of the large entry, the single node, the rename and its undoing.
      expect(state?.position).toEqual({ sequence: readBranchHead(reader).feed.last, parts: 0 });
    });
    expect(fed.status()).toMatchObject([{ name: 'tally', effects: 'shard', lag: 0 }]);
  });

  it('begin with the head of a filled branch, and continue where they were after a restart', async () => {
    const tally = new PathTally();
    fed = await FedBranch.open(folder, []);
    await fed.commit(creates(50, 'n'));
    await fed.close();
    fed = await FedBranch.open(folder, [tally], true);
    fed.runner.notice(BRANCH);
    await fed.settled();
    fed.look((reader) => requireTally(reader, tally, 0));
    await fed.runner.close();
    await fed.commit(creates(5, 'm'));
    expect(fed.status()).toMatchObject([{ lag: 1 }]);
    await fed.close();
    fed = await FedBranch.open(folder, [tally], true);
    fed.runner.notice(BRANCH);
    await fed.settled();
    fed.look((reader) => {
      requireTally(reader, tally);
      expect([...tally.rows(reader).values()].filter(({ seen }) => seen === 1)).toHaveLength(5);
      expect(readConsumer(reader, 'tally')).toMatchObject({ state: { starts: ['new'] } });
    });
  });

  it('continue when the branch is opened, without another commit, and leave it alone when they have nothing to do', async () => {
    const tally = new PathTally();
    const file = new FileConsumer(join(folder, 'noted'));
    fed = await FedBranch.open(folder, [tally, file]);
    await fed.settled();
    await fed.runner.close();
    await fed.branch.create('/a');
    await fed.close();
    fed = await FedBranch.open(folder, [tally, file], true);
    const { status } = fed;
    await until(() => status.call(fed).every(({ lag }) => lag === 0), 'they have seen the node');
    fed.look((reader) => requireTally(reader, tally, 1));
    expect(file.noted.at(-1)).toMatchObject({ after: { parts: 0 }, ids: [expect.any(String)] });
    await fed.close();
    fed = await FedBranch.open(folder, [tally, file], true);
    fed.status();
    await fed.runner.opened(BRANCH);
    expect(fed.runner.behind).toEqual([]);
  });

  it('start in steps, at one revision, while the branch is written to and after a restart', async () => {
    const tally = new PathTally({ nodesPerStep: 10 });
    fed = await FedBranch.open(folder, []);
    await fed.commit(creates(25, 'n'));
    await fed.close();
    fed = await FedBranch.open(folder, [tally], true);
    await fed.runner.close();
    const step = async (): Promise<unknown> => fed?.tell({ type: 'ConsumeFeed', name: 'tally' });
    const place = { path: '/n3' };
    expect(await step()).toEqual({ isRegistered: true, items: 0, isComplete: false });
    await fed.tell({ type: 'RenameNode', workspace: CONTENT, place, newName: 'z' });
    await fed.tell({ type: 'DeleteNode', workspace: CONTENT, place: { path: '/n4' } });
    expect(await step()).toMatchObject({ isComplete: false });
    await fed.commit(creates(2, 'm'));
    expect(fed.status()).toMatchObject([{ isStarting: true, lag: 3 }]);
    await fed.close();
    fed = await FedBranch.open(folder, [tally], true);
    fed.runner.notice(BRANCH);
    await fed.settled();
    fed.look((reader) => {
      requireTally(reader, tally);
      const seen = [...tally.rows(reader).values()].filter((row) => row.seen > 0);
      expect(seen.map(({ path }) => path).sort()).toEqual(['/m0', '/m1', '/z']);
      expect(readConsumer(reader, 'tally')).toMatchObject({ state: { starts: ['new'], items: 3 } });
    });
    expect(fed.status()).toMatchObject([{ isStarting: false, lag: 0 }]);
  });

  it('that fail try again and hold nobody', async () => {
    let fails = false;
    const before = (): void => {
      if (fails) throw new Error('not yet');
    };
    const failing = new PathTally({ name: 'failing', before });
    const tally = new PathTally();
    fed = await FedBranch.open(folder, [failing, tally]);
    await fed.settled();
    fails = true;
    await fed.branch.create('/a');
    const { runner } = fed;
    await until(() => (runner.behind[0]?.failures ?? 0) > 1, 'it failed twice');
    expect(runner.behind).toMatchObject([
      { branch: BRANCH, consumer: 'failing', error: { message: 'not yet' } },
    ]);
    fed.look((reader) => requireTally(reader, tally, 1));
    expect(fed.status()).toMatchObject([
      { name: 'failing', lag: 1 },
      { name: 'tally', lag: 0 },
    ]);
    fails = false;
    await fed.settled();
    fed.look((reader) => requireTally(reader, failing, 1));
    expect(fed.consumed).toContain('failing failed');
  });

  it('that are slow hold neither the log nor memory, nor others', async () => {
    const gate = Promise.withResolvers<void>();
    let isSlow = false;
    const sizes: number[] = [];
    const slow: OutsideConsumer = {
      name: 'slow',
      isEverywhere: true,
      effects: 'elsewhere',
      start: () => Promise.resolve(),
      async consume(_branch, items, signal) {
        if (!isSlow) return;
        signal.addEventListener('abort', () => gate.resolve());
        sizes.push(items.reduce((sum, { changes }) => sum + (changes?.changes.length ?? 0), 0));
        await gate.promise;
      },
      ended: () => Promise.resolve(),
    };
    const tally = new PathTally();
    const segmentBytes = 256 * 1024;
    fed = await FedBranch.open(folder, [slow, tally], false, { segmentBytes });
    await fed.settled();
    isSlow = true;
    const before = fed.status()[0]?.position?.sequence as number;
    const segments = (): number => readdirSync(join(folder, 'journal')).length;
    for (let number = 0; number < 24; number++) await fed.commit(creates(100, `s${number}n`));
    const last = fed.look((reader) => readBranchHead(reader).feed.last);
    const { status } = fed;
    const lags = (): number[] => status.call(fed).map(({ lag }) => lag);
    await until(() => lags()[1] === 0, 'the other one has seen everything');
    await until(() => segments() <= 2, 'the log is released');
    expect(lags()).toEqual([last - before, 0]);
    // It was given one batch, which is all that is held for it.
    expect(sizes).toHaveLength(1);
    gate.resolve();
    await fed.settled();
    expect(lags()).toEqual([0, 0]);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(2_400);
    expect(Math.max(...sizes)).toBeLessThan(2_000);
  });

  it('that are slow in many branches do not keep others from any', async () => {
    const gate = Promise.withResolvers<void>();
    const slow = new FileConsumer(join(folder, 'noted'), { before: () => gate.promise });
    const tally = new PathTally();
    fed = await FedBranch.open(folder, [slow, tally]);
    const { host } = fed.branch.engine;
    const forks = [1, 2, 3, 4, 5, 6].map((number) => actorId(TENANT, 'site~1', `f${number}~1`, 'branch'));
    for (const fork of forks) {
      await host.fork(BRANCH, fork);
      await fed.tell({ type: 'BecomeFork', sourceName: 'main' }, fork);
      fed.runner.notice(fork);
    }
    const place = (fork: string) => fed?.status(fork).find(({ name }) => name === 'tally')?.position;
    const hasStarted = (): boolean => forks.every((fork) => place(fork) !== undefined);
    await until(hasStarted, 'the other one has started in all').finally(gate.resolve);
    await fed.settled();
    expect(new Set(slow.noted.map(({ branch }) => branch)).size).toBe(forks.length + 1);
  });

  it('with effects elsewhere have their position moved after them, and get a failed batch again', async () => {
    let failures = 0;
    const before = (): void => {
      if (failures-- > 0) throw new Error('not yet');
    };
    const file = new FileConsumer(join(folder, 'noted'), { before });
    fed = await FedBranch.open(folder, [file]);
    await fed.settled();
    expect(file.noted.at(0)).toMatchObject({ branch: BRANCH, start: { reason: 'new' } });
    const known = file.noted.length;
    failures = 1;
    await fed.branch.create('/a');
    await fed.settled();
    const sequence = fed.look((reader) => readBranchHead(reader).feed.last);
    expect(file.noted.slice(known)).toMatchObject([{ after: { sequence, parts: 0 } }]);
    expect(fed.consumed).toContain('file failed');
    expect(fed.status()).toMatchObject([{ effects: 'elsewhere', lag: 0, position: { sequence, parts: 0 } }]);
  });

  it('are only in the branches in which they are registered, unless they are everywhere', async () => {
    const file = new FileConsumer(join(folder, 'noted'), { isEverywhere: false });
    fed = await FedBranch.open(folder, [file]);
    await fed.branch.create('/a');
    await fed.settled();
    expect(file.noted).toEqual([]);
    const register = { type: 'RegisterConsumer', name: 'file' };
    await fed.tell(register);
    await fed.tell(register);
    expect(fed.status()).toMatchObject([{ name: 'file', position: null }]);
    fed.runner.notice(BRANCH);
    await fed.settled();
    await fed.branch.create('/b');
    await fed.settled();
    expect(file.noted).toMatchObject([{ start: { reason: 'new' } }, { after: { parts: 0 } }]);
    await fed.tell({ type: 'RemoveConsumer', name: 'file' });
    await fed.branch.create('/c');
    await fed.settled();
    expect(file.noted).toHaveLength(2);
    expect(fed.status()).toEqual([]);
    await expect(fed.tell({ type: 'RegisterConsumer', name: 'other' })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
  });

  it('are not those of its source in a fork, and follow no branch that was deleted', async () => {
    const tally = new PathTally();
    const file = new FileConsumer(join(folder, 'noted'));
    fed = await FedBranch.open(folder, [tally, file]);
    await fed.branch.create('/a');
    await fed.settled();
    await fed.branch.engine.host.fork(BRANCH, FORK);
    await fed.tell({ type: 'BecomeFork', sourceName: 'main' }, FORK);
    expect(fed.status(FORK)).toEqual([]);
    fed.runner.notice(FORK);
    await fed.settled();
    fed.look((reader) => requireTally(reader, tally, 0), FORK);
    expect(file.noted.at(-1)).toMatchObject({ branch: FORK, start: { reason: 'new' } });
    const create = {
      type: 'CreateNode',
      workspace: CONTENT,
      parentPath: '/',
      node: { name: 'b', nodeType: 'test:Article', properties: { title: 't' } },
      deep: false,
    };
    await fed.tell(create, FORK);
    await fed.settled();
    expect(file.noted.at(-1)).toMatchObject({ branch: FORK, after: { parts: 0 } });
    await fed.branch.engine.host.destroyUnder(FORK.replace(/\/branch$/, ''));
    fed.runner.notice(FORK);
    await fed.settled();
    expect(fed.runner.isFollowing(FORK)).toBe(false);
    expect(file.noted.at(-1)).toMatchObject({ branch: FORK, after: { parts: 0 } });
  });

  it('are a matter of the engine alone', async () => {
    fed = await FedBranch.open(folder, [new PathTally()]);
    const { host } = fed.branch.engine;
    for (const type of ['RegisterConsumer', 'RemoveConsumer', 'ConsumeFeed', 'MoveConsumer']) {
      const command = { type, name: 'tally', from: null, to: { sequence: 1, parts: 0 } };
      await expect(host.command(BRANCH, command, { caller: callers.admin })).rejects.toMatchObject({
        code: 'FORBIDDEN',
      });
    }
    for (const type of ['ReadConsumerBatch', 'ReadConsumers'])
      expect(() => host.query(BRANCH, { type, name: 'tally' }, callers.admin)).toThrow();
  });
});
