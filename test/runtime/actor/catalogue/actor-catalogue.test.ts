import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ActorCatalogue, CATALOGUE } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { SmallVolume } from '#test/support/small-volume.ts';
import { Engine } from '#test/support/engine.ts';
import { noteActor } from '#test/support/note-actor.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';

const ROWS = 2_000;

const early = actorId('acme', 'site~1', 'early', 'notes');

function idOf(number: number): string {
  return actorId('acme', 'site~1', `n${number}`, 'notes');
}

describe('a catalogue that could not be stored', () => {
  let volume: SmallVolume;
  let clock: TestClock;

  beforeEach(() => {
    volume = new SmallVolume(8 * 1024 * 1024);
    clock = new TestClock();
  });

  afterEach(() => volume.close());

  it('is not recreated once it is lost: no actor that it listed is treated as one that never existed', async () => {
    const catalogue = new ActorCatalogue(volume.path, clock);
    await catalogue.note({ actors: new Map([[early, { created: 1, floor: 0 }]]) }, 1);
    rmSync(join(volume.path, CATALOGUE), { recursive: true });
    const actors = new Map([[idOf(1), { created: 2, floor: 0 }]]);
    await expect(catalogue.note({ actors }, 2)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    // When it was opened again, or not.
    await new Promise((resolve) => setImmediate(resolve));
    expect(() => catalogue.get(early)).toThrow(expect.objectContaining({ code: 'DATA_CORRUPTED' }));
    expect(existsSync(join(volume.path, CATALOGUE))).toBe(false);
    await catalogue.close();
  });

  it('is stored by itself once that is possible, even if it could not be opened meanwhile', async () => {
    const unhandled: unknown[] = [];
    const onUnhandled = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', onUnhandled);
    const catalogue = new ActorCatalogue(volume.path, clock);
    await catalogue.note({ actors: new Map([[early, { created: 1, floor: 0 }]]) }, 1);
    const mark = join(volume.path, CATALOGUE, 'unsound');
    writeFileSync(mark, 'x');
    volume.fill(100);
    const actors = new Map(
      Array.from({ length: ROWS }, (_, number) => [idOf(number), { created: 2, floor: 0 }]),
    );
    await expect(catalogue.note({ actors }, 2)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    let isStored = false;
    const stored = catalogue.stored().then(() => {
      isStored = true;
    });
    for (let round = 0; round < 10; round += 1) {
      clock.advance(8_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    // What was noted is shown, and what is in the file cannot be told from what is not.
    expect(catalogue.get(idOf(7))).toEqual({ created: 2, floor: 0 });
    expect(() => catalogue.get(early)).toThrow(expect.objectContaining({ code: 'DATA_CORRUPTED' }));
    expect(isStored).toBe(false);
    volume.free();
    rmSync(mark);
    await until(() => {
      clock.advance(8_000);
      return isStored;
    }, 'it is stored');
    await stored;
    expect([catalogue.get(early), catalogue.sequence]).toEqual([{ created: 1, floor: 0 }, 2]);
    await catalogue.close();
    const again = new ActorCatalogue(volume.path, clock);
    expect(again.under()).toHaveLength(ROWS + 1);
    await again.close();
    process.off('unhandledRejection', onUnhandled);
    expect(unhandled).toEqual([]);
  });

  it('lets the journal go of what made an actor when it has the row later', async () => {
    const engine = await Engine.open(volume.path, { kinds: [noteActor], clock });
    await engine.host.create(early);
    await until(() => engine.journal.pending().size === 0, 'the first one is known');
    volume.fill(100);
    for (let number = 0; engine.applyFailures.length === 0; number += 1) {
      if (number > ROWS) throw new Error('the catalogue is never full');
      await engine.host.create(idOf(number));
    }
    expect(engine.journal.pending().size).toBeGreaterThan(0);
    volume.free();
    await until(() => {
      clock.advance(8_000);
      return engine.journal.pending().size === 0;
    }, 'nothing is pinned');
    await engine.close();
  });
});
