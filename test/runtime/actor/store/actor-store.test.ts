import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ActorCatalogue, CATALOGUE } from '#runtime/actor/catalogue/actor-catalogue.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { noteActor } from '#test/support/note-actor.ts';

const first = actorId('acme', 'site~1', 'a', 'notes');
const second = actorId('acme', 'site~1', 'b', 'notes');

let root: string;
let store: ActorStore;
let catalogue: ActorCatalogue;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'actor-store-'));
  store = new ActorStore(root, [noteActor], systemClock, { keepMs: 3_600_000, isPressed: () => false });
  catalogue = new ActorCatalogue(root, systemClock);
  store.useCatalogue(catalogue, true);
  for (const actor of [first, second]) await store.create(actor, 1);
});

afterEach(async () => {
  await catalogue.close();
  rmSync(root, { recursive: true, force: true });
});

it('lowers no floor when the record that made an actor is read once more', async () => {
  await catalogue.note({ actors: new Map([[first, { created: 0, floor: 5 }]]) }, 5);
  await store.create(first, 1);
  expect(catalogue.get(first)?.floor).toBe(5);
});

it('makes no empty file for an actor that is refused when the record that made it is read once more', async () => {
  rmSync(store.folders.of(first), { recursive: true });
  store.refuseAlone(true);
  const cause = new ServiceError('DATA_CORRUPTED');
  expect(store.giveUp(first, cause)).toBe(true);
  await store.create(first, 1);
  expect([store.isMissing(first), store.refused.get(first)]).toEqual([true, cause]);
});

it('moves no folder away before the catalogue on the disk has the removal [DUR-024]', async () => {
  const killed = mkdtempSync(join(tmpdir(), 'actor-store-killed-'));
  const remove = store.folders.remove.bind(store.folders);
  store.folders.remove = (owner, isRemade) => {
    cpSync(join(root, CATALOGUE), join(killed, CATALOGUE), { recursive: true });
    return remove(owner, isRemade);
  };
  await store.remove(first, 2);
  const left = new ActorCatalogue(killed, systemClock);
  try {
    expect([left.under(), store.folders.exists(first)]).toEqual([[second], false]);
  } finally {
    await left.close();
    rmSync(killed, { recursive: true });
  }
});

it('keeps what is removed unless all of it is there only because that record is read once more', async () => {
  const kept = (): string[] => readdirSync(join(root, '.removed'));
  await store.remove('acme/site~1', 2, new Set([first]));
  expect(kept()).toHaveLength(1);
  for (const actor of [first, second]) await store.create(actor, 1);
  await store.remove('acme/site~1', 2, new Set([first, second]));
  expect(kept()).toHaveLength(1);
});
