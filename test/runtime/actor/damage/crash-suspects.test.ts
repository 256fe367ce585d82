import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CrashSuspects } from '#runtime/actor/damage/crash-suspects.ts';
import { TestClock } from '#test/support/test-clock.ts';

let folder: string;
let clock: TestClock;
let damaged: Set<string>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'in-hand-'));
  clock = new TestClock();
  damaged = new Set();
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A process that begins; those before it have ended where they were. @returns what it verified */
async function begin(): Promise<{ readonly suspects: CrashSuspects; readonly verified: readonly string[] }> {
  const verified: string[] = [];
  const suspects = new CrashSuspects(folder, clock);
  await suspects.begin({
    isActor: (actor) => actor.startsWith('acme/'),
    *verify(actor) {
      yield undefined;
      verified.push(actor);
      return damaged.has(actor) ? 'page 7 is gone' : undefined;
    },
  });
  return { suspects, verified };
}

const file = (): string => join(folder, '.in-hand');

describe('notes of shards a process has in hand', () => {
  it('name those that were being opened when it ended, and no others', async () => {
    const { suspects } = await begin();
    const opened = suspects.take('acme/a');
    suspects.opened('acme/a');
    opened();
    suspects.take('acme/b')();
    suspects.take('acme/c');
    expect((await begin()).verified).toEqual(['acme/c']);
    // It was whole.
    expect((await begin()).verified).toEqual([]);
  });

  it('are gone when everything is closed', async () => {
    const { suspects } = await begin();
    const ends = ['acme/a', 'acme/b'].flatMap((actor) => [suspects.take(actor), suspects.opened(actor)]);
    expect(existsSync(file())).toBe(true);
    for (const end of ends) end();
    expect(existsSync(file())).toBe(false);
  });

  it('keep a shard noted while it is in hand more than once', async () => {
    const { suspects } = await begin();
    const [first] = [suspects.take('acme/a'), suspects.take('acme/a')];
    first?.();
    first?.();
    expect((await begin()).verified).toEqual(['acme/a']);
  });

  it('name a shard that was open when two processes ended one soon after the other', async () => {
    for (const verified of [[], [], ['acme/a']]) {
      const process = await begin();
      expect(process.verified).toEqual(verified);
      clock.advance(60_000);
      process.suspects.opened('acme/a');
    }
  });

  it('do not name one that was open when a process ended that had run for long', async () => {
    for (let process = 0; process < 4; process += 1) {
      const { suspects, verified } = await begin();
      expect(verified).toEqual([]);
      suspects.opened('acme/a');
      clock.advance(3_600_000);
    }
  });

  it('remember damage until the actor is verified or rebuilt', async () => {
    (await begin()).suspects.take('acme/a');
    damaged.add('acme/a');
    for (let start = 0; start < 3; start += 1) {
      const { suspects, verified } = await begin();
      expect(verified).toEqual(['acme/a']);
      expect(suspects.damageOf('acme/a')).toBe('page 7 is gone');
    }
    const { suspects } = await begin();
    suspects.forget((actor) => actor === 'acme/a');
    expect(suspects.damageOf('acme/a')).toBeUndefined();
    expect((await begin()).verified).toEqual([]);
  });

  it('are verified one by one, so that a process that is killed meanwhile does not start over', async () => {
    const { suspects } = await begin();
    for (const actor of ['acme/a', 'acme/b']) suspects.take(actor);
    const left: string[] = [];
    await new CrashSuspects(folder, clock).begin({
      isActor: () => true,
      verify(actor) {
        left.push(`${actor} ${readFileSync(file(), 'latin1').includes('closed acme/a')}`);
        return (function* (): Generator<undefined, undefined> {})();
      },
    });
    expect(left).toEqual(['acme/a false', 'acme/b true']);
  });

  it('count as far as they can be read, and refuse nothing', async () => {
    writeFileSync(
      file(),
      'opening acme/a\n\u0000\u00ff noise opening acme/b\nopening other/x\nopening acme/c\nopen',
    );
    expect((await begin()).verified).toEqual(['acme/a', 'acme/c']);
    rmSync(file(), { force: true });
    mkdirSync(file());
    const { suspects, verified } = await begin();
    expect(verified).toEqual([]);
    suspects.take('acme/a')();
  });

  it('do not grow with the number of openings', async () => {
    const { suspects } = await begin();
    suspects.opened('acme/kept');
    for (let number = 0; number < 20_000; number += 1) suspects.take(`acme/${number}`)();
    expect(readFileSync(file(), 'latin1').split('\n').length).toBeLessThan(10_000);
    expect(readFileSync(file(), 'latin1')).toContain('open acme/kept');
  });
});
