import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { CommandMemtables } from '#runtime/commit/command-memtables.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { Answers, LoopFixture, OWN_TABLE } from '#test/support/loop-fixture.ts';
import { settle } from '#test/support/test-clock.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('the memtables commands read', () => {
  it('are those of the batch above the durable ones, in one array until either changes', () => {
    let durable: readonly Memtable[] = [new Memtable()];
    const memtables = new CommandMemtables(() => durable);
    expect(memtables.all).toBe(durable);
    const batch = new Memtable();
    memtables.batch = batch;
    const before = memtables.all;
    expect(before).toEqual([batch, ...durable]);
    expect(memtables.all).toBe(before);
    durable = [new Memtable(), new Memtable()];
    expect(memtables.all).toEqual([batch, ...durable]);
    memtables.batch = undefined;
    expect(memtables.all).toBe(durable);
  });

  it('hold nothing of a finished batch, although there are no further reads', async () => {
    const fixture = new LoopFixture();
    const answers = new Answers();
    const values: WeakRef<Uint8Array>[] = [];
    const write = fixture.submit((turn) => {
      const value = Buffer.allocUnsafeSlow(1024);
      values.push(new WeakRef(value));
      turn.put(OWN_TABLE, 'k', value);
      // So that the memtables are asked for.
      return turn.get(OWN_TABLE, 'k')?.length;
    });
    answers.listen('write', write);
    await settle();
    fixture.log.refuse(new ServiceError('STORAGE_FULL'));
    await settle();
    expect(answers.heard).toEqual(['write! STORAGE_FULL']);
    collectGarbage();
    expect(values.map((value) => value.deref())).toEqual([undefined]);
  });
});
