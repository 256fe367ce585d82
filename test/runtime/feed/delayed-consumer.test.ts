import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FedBranch } from '#test/support/fed-branch.ts';
import { PathTally } from '#test/support/feed-consumers.ts';
import { BRANCH } from '#test/support/test-branch.ts';
import { settle as turns, TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

const DELAY_MS = 5_000;

describe('a consumer of a feed that waits for several commits', () => {
  const clock = new TestClock();
  let folder: string;
  let fed: FedBranch;
  /** Called while it is given an item. */
  let meanwhile: () => void = () => {};

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'delayed-'));
    meanwhile = () => {};
    const tally = new PathTally({ before: () => meanwhile() });
    fed = await FedBranch.open(folder, [Object.assign(tally, { delayMs: DELAY_MS })], false, {
      runnerClock: clock,
    });
    hurry();
    await settled();
    fed.consumed.length = 0;
  });
  afterEach(async () => {
    await fed.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const hurry = (): void => fed.runner.hurry(BRANCH, 'tally');

  async function settled(): Promise<void> {
    await until(() => {
      // The rests between batches take no time on this clock.
      clock.advance(0);
      return fed.runner.behind.length === 0;
    }, 'it has seen everything');
  }

  it('takes all of them in one batch when the time is over', async () => {
    for (let index = 0; index < 20; index++) await fed.branch.create(`/n${index}`);
    clock.advance(DELAY_MS - 1);
    await turns();
    expect(fed.consumed).toEqual([]);
    expect(fed.runner.behind).toMatchObject([{ consumer: 'tally', isDelayed: true }]);
    clock.advance(1);
    await settled();
    expect(fed.consumed).toEqual(['tally 20']);
  });

  it('takes them at once when it is hurried, and is not hurried by that later', async () => {
    await fed.branch.create('/one');
    hurry();
    await settled();
    expect(fed.consumed).toEqual(['tally 1']);
    await fed.branch.create('/two');
    await turns();
    expect(fed.consumed).toEqual(['tally 1']);
    clock.advance(DELAY_MS);
    await settled();
    expect(fed.consumed).toEqual(['tally 1', 'tally 1']);
  });

  it('goes on at once when it is hurried during a batch', async () => {
    let written: Promise<unknown> | undefined;
    meanwhile = () => {
      written ??= fed.branch.create('/two').then(hurry);
    };
    await fed.branch.create('/one');
    hurry();
    await until(() => written !== undefined, 'it has been given an item');
    await written;
    await settled();
    expect(fed.consumed).toEqual(['tally 1', 'tally 1']);
  });

  it('waits with what is written during a batch', async () => {
    let written: Promise<unknown> | undefined;
    meanwhile = () => {
      written ??= fed.branch.create('/two');
    };
    await fed.branch.create('/one');
    hurry();
    await until(() => fed.consumed.length === 1, 'it has taken the batch');
    await written;
    clock.advance(DELAY_MS - 1);
    await turns();
    expect(fed.consumed).toEqual(['tally 1']);
    clock.advance(1);
    await settled();
    expect(fed.consumed).toEqual(['tally 1', 'tally 1']);
  });
});
