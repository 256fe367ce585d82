import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Write } from '#runtime/log/log-entry.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import type { ShardPosition } from '#runtime/shard/shard.ts';

/** What the thread of the newest environment does, as the process sees it. */
interface Thread {
  /** Whether it has not made its last call yet. */
  isRunning: boolean;
  /** Lets it make its last call. */
  letGo: () => void;
  /** What of it happened, in order. */
  readonly events: string[];
}

type Report = (status: number) => unknown;

interface Environment {
  startWriting(address: number, report: Report): void;
  close(): void;
}

let thread: Thread;

/**
 * Opens a real environment of which only the last call of the thread is held back. A busy processor does the same, once in
 * some ten thousand times.
 */
const openHeld = ((...given: Parameters<typeof open>) => {
  const database = open(...given);
  const { env } = database as unknown as { readonly env: Environment };
  const { close, startWriting } = env;
  const events: string[] = [];
  thread = { isRunning: false, letGo: () => {}, events };
  Object.defineProperties(env, {
    startWriting: {
      configurable: true,
      value: (address: number, report: Report): void => {
        thread.isRunning = true;
        startWriting.call(env, address, (status) => {
          if (status === 1 || status === 2) return report(status);
          // The call for a visible commit may come this late.
          report(1);
          events.push('committed');
          thread.letGo = () => {
            thread.isRunning = false;
            events.push('finished');
            report(status);
          };
          return undefined;
        });
      },
    },
    close: {
      value: (): void => {
        events.push(thread.isRunning ? 'closed under the thread' : 'closed');
        close.call(env);
      },
    },
  });
  return database;
}) as typeof open;

const at: ShardPosition = { sequence: 1, clock: { ms: 1_700_000_000_000, counter: 0 } };
const write: Write = { table: 0, key: 'key', value: Buffer.from('value') };

let folder: string;
let shard: LmdbShard;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'writer-thread-'));
  shard = new LmdbShard(folder, ['rows'], undefined, undefined, undefined, openHeld);
});

afterEach(async () => {
  await shard.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the thread that writes a shard', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['an application', () => shard.apply([write], at).flushed],
    ['a claim of a copy', () => shard.claim({ directory: 'd', actor: 'a', created: 1 })],
  ])('has let go of its file before %s settles', async (_, work) => {
    const settled = work().then(() => thread.events.push('settled'));
    await expect.poll(() => thread.events).toEqual(['committed']);
    // Any number of turns.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    expect(thread.events).toEqual(['committed']);
    thread.letGo();
    await settled;
    expect(thread.events).toEqual(['committed', 'finished', 'settled']);
  });

  it('has let go of its file before that is closed', async () => {
    void shard.apply([write], at);
    const closed = shard.close();
    await expect.poll(() => thread.events).toEqual(['committed']);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    thread.letGo();
    await closed;
    expect(thread.events).toEqual(['committed', 'finished', 'closed']);
  });
});
