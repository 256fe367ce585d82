import { readdirSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { Log } from '#runtime/log/ports.ts';
import { HostFixture } from '#test/support/host-fixture.ts';
import { noteActor } from '#test/support/note-actor.ts';

/** Whether the process is one of a version that had no catalogue. */
let isOld = true;
let fixture: HostFixture;

/** A log that does not tell what leaves it: then nothing is noted. */
function logOver(journal: Log): Log {
  const read = (target: Log, key: string | symbol): unknown => {
    if (key === 'retention' && isOld) return undefined;
    const value: unknown = Reflect.get(target, key);
    return typeof value === 'function' ? value.bind(target) : value;
  };
  return new Proxy(journal, { get: read });
}

const idOf = (name: string): string => actorId('acme', 'site~1', name, 'notes');

function read(name: string): unknown {
  return fixture.query(idOf(name), { type: 'Read', key: 'k' } as never);
}

beforeEach(async () => {
  isOld = true;
  fixture = await HostFixture.open([noteActor], logOver);
  for (const name of ['used', 'unused']) await fixture.host.create(idOf(name));
  await fixture.command(idOf('used'), { type: 'Write', key: 'k', text: '1' } as never);
  // So that the journal does not have everything any more.
  for (let restart = 0; restart < 2; restart += 1) {
    await fixture.reopen();
    await fixture.command(idOf('used'), { type: 'Write', key: 'other', text: '1' } as never);
  }
  expect(readdirSync(join(fixture.folder, 'actors'))).not.toContain('.catalogue');
});

afterEach(() => fixture.close());

const file = (name: string): string => join(fixture.folder, 'actors', ...idOf(name).split('/'), 'data.mdb');

describe('a data directory of an older version', () => {
  it('is taken as it is, once', async () => {
    isOld = false;
    await fixture.reopen();
    expect([read('used'), read('unused')]).toEqual(['1', undefined]);
    expect(fixture.host.stoppedActors).toEqual([]);
    await fixture.command(idOf('unused'), { type: 'Write', key: 'k', text: '2' } as never);
    await fixture.reopen();
    expect([read('used'), read('unused')]).toEqual(['1', '2']);
    rmSync(join(fixture.folder, 'actors/.catalogue'), { recursive: true });
    await expect(fixture.reopen()).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });

  it.each(['missing', 'empty'])('refuses a shard that is %s by then', async (how) => {
    isOld = false;
    await fixture.reopen(() => {
      if (how === 'empty') truncateSync(file('used'), 0);
      else rmSync(file('used'));
    });
    expect(() => read('used')).toThrow(file('used'));
    expect(read('unused')).toBeUndefined();
    expect(fixture.host.stoppedActors).toMatchObject([{ actor: idOf('used'), reason: 'damage' }]);
  });
});
