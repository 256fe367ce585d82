import { beforeEach, describe, expect, it } from 'vitest';
import { type ColdStart, ColdStarter } from '#cluster/ownership/cold-start.ts';
import type { PositionKeeper } from '#cluster/ownership/position-keeper.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { ShardPositions } from '#cluster/replication/shard-positions.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { settle } from '#test/support/test-clock.ts';

const position = { identity: 'memory', sequence: 7 } as LogPosition;

/** What was done, in order. */
let steps: string[];
/** What a replacement reaches; undefined: nothing was changed. */
let reached: LogPosition | undefined;
let isUnfinished: boolean;
/** Downloads that are under way. */
let brought: PromiseWithResolvers<boolean>[];
/** Cancel them. */
let signals: AbortSignal[];
let run: (signal: AbortSignal) => Promise<LogPosition | undefined>;
let starter: ColdStarter;

function replace(step: string): Promise<LogPosition | undefined> {
  steps.push(step);
  return Promise.resolve(reached);
}

/** Rejects when it is cancelled. */
function untilCancelled(signal: AbortSignal, fail: (error: unknown) => void): void {
  signal.addEventListener('abort', () => fail(new ServiceError('REQUEST_CANCELLED')));
}

beforeEach(() => {
  steps = [];
  reached = position;
  isUnfinished = false;
  brought = [];
  signals = [];
  run = () => replace('run');
  const coldStart: ColdStart = {
    run: (_, signal) => run(signal),
    bring: (signal) => {
      const bringing = Promise.withResolvers<boolean>();
      brought.push(bringing);
      signals.push(signal);
      untilCancelled(signal, bringing.reject);
      return bringing.promise;
    },
    replace: () => replace('replace'),
    isOffered: async () => true,
    isUnfinished: async () => isUnfinished,
    finish: () => {
      isUnfinished = false;
      return replace('finish');
    },
    done: async () => void steps.push('done'),
  };
  const positions = { current: undefined, replace: async () => void steps.push('position') };
  const shards = {
    suspend: async () => void steps.push('suspend'),
    replaced: async () => 1,
    resume: () => void steps.push('resume'),
  };
  starter = new ColdStarter(
    coldStart,
    positions as unknown as PositionKeeper,
    shards as unknown as ShardPositions,
  );
});

describe('a start from a snapshot', () => {
  it('leaves the shards alone, and removes nothing before the position of the new ones is stored', async () => {
    expect(await starter.run()).toBe(true);
    expect(steps).toEqual(['suspend', 'run', 'position', 'done', 'resume']);
  });

  it('stores no position and removes nothing when nothing was replaced', async () => {
    reached = undefined;
    expect([await starter.replace(), await starter.run()]).toEqual([false, true]);
    expect(steps).toEqual(['suspend', 'replace', 'resume', 'suspend', 'run', 'resume']);
  });

  it('ends when it is cancelled, and with any other failure', async () => {
    run = (signal) => new Promise((_, reject) => untilCancelled(signal, reject));
    const cancelled = starter.run();
    await settle();
    starter.cancel();
    expect(await cancelled).toBe(false);
    run = () => Promise.reject(new ServiceError('DATA_CORRUPTED'));
    await expect(starter.run()).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(steps).toEqual(['suspend', 'resume', 'suspend', 'resume']);
  });
});

describe('a download beside the actors', () => {
  it('ends when another one begins, or a start from a snapshot, which waits for its end', async () => {
    const first = starter.bring();
    await settle();
    const second = starter.bring();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(await first).toBe(false);
    await settle();
    const started = starter.run();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(await second).toBe(false);
    expect(await started).toBe(true);
  });

  it('is the only one that uses the folder', async () => {
    const bringing = starter.bring();
    await settle();
    const dropped = starter.drop();
    const tidied = starter.tidy();
    expect(await bringing).toBe(false);
    await Promise.all([dropped, tidied]);
    expect(steps).toEqual(['done', 'done']);
    const again = starter.bring();
    await settle();
    const other = starter.bring();
    expect(brought).toHaveLength(2);
    expect(await again).toBe(false);
    await settle();
    expect(brought).toHaveLength(3);
    brought[2]?.resolve(true);
    expect(await other).toBe(true);
  });

  it('fails with any failure but its end', async () => {
    const bringing = starter.bring();
    await settle();
    brought[0]?.reject(new ServiceError('DATA_CORRUPTED'));
    await expect(bringing).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });
});

describe('what a download leaves', () => {
  async function bring(): Promise<void> {
    const bringing = starter.bring();
    await settle();
    brought.at(-1)?.resolve(true);
    expect(await bringing).toBe(true);
  }

  it('stays while it is needed, and is not waited for', async () => {
    const bringing = starter.bring();
    await settle();
    let isTidy = false;
    void starter.tidy().then(() => (isTidy = true));
    await settle();
    expect(isTidy).toBe(true);
    brought[0]?.resolve(true);
    await bringing;
    await starter.tidy();
    expect(steps).toEqual([]);
    await starter.drop();
    expect(steps).toEqual(['done']);
  });

  it('stays when it is needed again before it was removed', async () => {
    await bring();
    const dropped = starter.drop();
    const bringing = starter.bring();
    await dropped;
    expect(steps).toEqual([]);
    starter.cancel();
    expect(await bringing).toBe(false);
  });

  it('stays while a replacement is unfinished, which is completed first', async () => {
    await bring();
    isUnfinished = true;
    await starter.drop();
    expect(steps).toEqual([]);
    await starter.tidy();
    expect(steps).toEqual(['suspend', 'finish', 'position', 'done', 'resume', 'done']);
  });

  it('stays when it is needed after an unfinished replacement was completed that changed nothing', async () => {
    await bring();
    isUnfinished = true;
    reached = undefined;
    await starter.tidy();
    expect(steps).toEqual(['suspend', 'finish', 'resume']);
  });

  it('is needed no longer when it has replaced the actors', async () => {
    await bring();
    expect(await starter.replace()).toBe(true);
    steps = [];
    await starter.tidy();
    expect(steps).toEqual(['done']);
  });
});
