import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { removePaced, SLICE_BYTES } from '#runtime/actor/store/paced-removal.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { TestClock } from '#test/support/test-clock.ts';

/** A clock on which every slice takes a while. */
class WorkingClock extends TestClock {
  override monotonicMs(): number {
    this.advance(10);
    return super.monotonicMs();
  }
}

describe('the removal of a folder', () => {
  let parent: string;
  let folder: string;

  beforeEach(() => {
    parent = mkdtempSync(join(tmpdir(), 'removal-'));
    folder = join(parent, 'gone');
    mkdirSync(join(folder, 'inner'), { recursive: true });
  });

  afterEach(() => {
    rmSync(parent, { recursive: true, force: true });
  });

  function write(name: string, bytes: number): string {
    const path = join(folder, name);
    writeFileSync(path, Buffer.alloc(bytes, 1));
    return path;
  }

  it('takes everything in it', async () => {
    write('inner/small', 100);
    write('inner/large', 3 * SLICE_BYTES + 1);
    write('empty', 0);
    await removePaced(folder, systemClock);
    expect(existsSync(folder)).toBe(false);
    expect(existsSync(parent)).toBe(true);
  });

  it('is completed during another one of the same folder', async () => {
    for (let number = 0; number < 20; number += 1) write(`inner/f${number}`, 100);
    write('inner/large', 2 * SLICE_BYTES);
    await Promise.all([1, 2, 3, 4].map(() => removePaced(folder, systemClock)));
    expect(existsSync(folder)).toBe(false);
  });

  it('of which there is none is no error', async () => {
    rmSync(folder, { recursive: true });
    await removePaced(folder, systemClock);
  });

  it('gives large files back slice by slice and waits between them as long as a slice took', async () => {
    const clock = new WorkingClock();
    const large = write('inner/large', 3 * SLICE_BYTES);
    let isDone = false;
    const removed = removePaced(folder, clock).then(() => {
      isDone = true;
    });
    const sizes: number[] = [];
    while (!isDone) {
      while (!isDone && clock.alarms === 0) await setImmediate();
      if (isDone) break;
      sizes.push(statSync(large).size);
      clock.advance(9);
      expect(clock.alarms).toBe(1);
      clock.advance(1);
    }
    await removed;
    expect(sizes).toEqual([2 * SLICE_BYTES, SLICE_BYTES]);
    expect(existsSync(folder)).toBe(false);
  });
});
