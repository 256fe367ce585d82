import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorCatalogue } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { catalogueAgainstJournal, readCatalogue } from '#server/check/read-catalogue.ts';

const ACTOR = actorId('acme', 'site~1', 'main~1', 'notes');
const SEQUENCE = 40;

let folder: string;
let unnamed: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'read-catalogue-'));
  unnamed = mkdtempSync(join(tmpdir(), 'read-catalogue-'));
  const named = new ActorCatalogue(folder, systemClock);
  await named.begin('name', { actors: new Map([[ACTOR, { created: 1, floor: 1 }]]) }, SEQUENCE);
  await named.close();
  await new ActorCatalogue(unnamed, systemClock).close();
});

afterEach(() => {
  for (const each of [folder, unnamed]) rmSync(each, { recursive: true, force: true });
});

describe('the catalogue of a directory that no server has open', () => {
  it('tells its directory, its actors and the newest record it knows', () => {
    const { actors, damage, directory, sequence } = readCatalogue(folder, true);
    expect({ actors: [...actors.keys()], damage, directory, sequence }).toEqual({
      actors: [ACTOR],
      damage: [],
      directory: 'name',
      sequence: SEQUENCE,
    });
  });

  it('names its directory wherever there are actors', () => {
    copyFileSync(ActorCatalogue.pathIn(unnamed), ActorCatalogue.pathIn(folder));
    const file = ActorCatalogue.pathIn(folder);
    expect(readCatalogue(folder, true).damage).toEqual([
      { file, what: 'it names no directory: another file was copied over it' },
    ]);
    // A server that ended while it made its directory leaves one without a name.
    expect(readCatalogue(folder, false).damage).toEqual([]);
  });

  it('is of the same time as the journal beside it', () => {
    const found = (firstSequence: number, lastSequence: number): readonly { what: string }[] =>
      catalogueAgainstJournal(folder, { sequence: SEQUENCE }, sound(firstSequence, lastSequence));
    expect(found(1, SEQUENCE)).toEqual([]);
    expect(found(SEQUENCE + 1, SEQUENCE)).toEqual([]);
    expect(found(SEQUENCE + 1, SEQUENCE + 9)).toEqual([]);
    expect(found(1, SEQUENCE - 1)[0]?.what).toContain(`it knows record ${SEQUENCE}`);
    expect(found(SEQUENCE + 2, SEQUENCE + 9)[0]?.what).toContain('it is older than the other files');
  });

  it('is not compared with a journal that is damaged or absent, or when it cannot be read', () => {
    const journal = sound(1, SEQUENCE - 1);
    const finding = { file: 'segment', what: 'damaged' };
    const compared = [
      catalogueAgainstJournal(folder, { sequence: SEQUENCE }, { ...journal, findings: [finding] }),
      catalogueAgainstJournal(folder, { sequence: SEQUENCE }, { ...journal, segments: 0 }),
      catalogueAgainstJournal(folder, { sequence: undefined }, journal),
    ];
    expect(compared).toEqual([[], [], []]);
  });
});

function sound(firstSequence: number, lastSequence: number): Parameters<typeof catalogueAgainstJournal>[2] {
  return { findings: [], firstSequence, lastSequence, segments: 1 };
}
