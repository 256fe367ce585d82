import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Clock } from '#runtime/base/time/clock.ts';
import { TRANSACTION_BYTES_MAX } from '#runtime/commit/apply-memtables.ts';
import { Memtable } from '#runtime/commit/memtable.ts';
import { MemtableReader } from '#runtime/commit/memtable-reader.ts';
import { ShardWriter } from '#runtime/commit/shard-writer.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { MemoryDisk, MemoryShard, type MemoryShardStep } from '#runtime/shard/memory-shard.ts';
import type { Applied, Shard, ShardPosition, TableReader } from '#runtime/shard/shard.ts';
import { GatedLog } from '#test/support/gated-log.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';

const full = new ServiceError('STORAGE_FULL');

type Fail = (step: MemoryShardStep) => ServiceError | undefined;

/** A writer over a memory shard, with everything around it in the test's hands. */
class Bench {
  readonly clock = new TestClock();
  readonly log = new GatedLog();
  readonly disk = new MemoryDisk();
  readonly failures: unknown[] = [];
  opened = 0;
  fail: Fail = () => undefined;
  failOpen: unknown;
  readonly writer: ShardWriter;
  #sequence = 0;

  constructor(
    apply = { applyBytes: 1 << 20, applyDelayMs: 50 },
    wrap: (shard: Shard) => Shard = (shard) => shard,
  ) {
    const open = (): Shard => {
      if (this.failOpen !== undefined) throw this.failOpen;
      this.opened += 1;
      return wrap(new MemoryShard(this.disk, 2, this.clock as Clock, (step) => this.fail(step)));
    };
    this.writer = new ShardWriter(
      'a',
      open,
      this.log,
      this.clock,
      apply,
      (cause) => void this.failures.push(cause),
    );
  }

  /**
   * Accepts a batch of keys; null removes.
   *
   * @param rows what there is before; keys that are not among them are inserted
   */
  accept(changes: Readonly<Record<string, string | null>>, rows?: Readonly<Record<string, string>>): void {
    const batch = new Memtable();
    for (const [key, text] of Object.entries(changes)) {
      if (text === null) batch.set(0, key, null);
      else if (rows === undefined || Object.hasOwn(rows, key)) batch.set(0, key, Buffer.from(text));
      else batch.insert(0, key, Buffer.from(text));
    }
    this.#sequence += 1;
    this.writer.accept(batch, this.#sequence, { ms: this.#sequence, counter: 0 });
  }

  get view(): TableReader {
    return new MemtableReader(
      () => this.writer.memtables,
      () => this.writer.shard,
    );
  }

  read(key: string, reader: TableReader = this.view): string | undefined {
    const bytes = reader.get(0, key);
    return bytes === undefined ? undefined : Buffer.from(bytes).toString();
  }

  rows(reader: TableReader = this.view): Record<string, string> {
    const rows = [...reader.range(0, { start: '', end: '\u00ff' })];
    return Object.fromEntries(rows.map(({ key, value }) => [key, Buffer.from(value).toString()]));
  }

  /** What a crash at this moment would leave. */
  flushed(): { rows: Record<string, string>; sequence: number } {
    const shard = new MemoryShard(this.disk.crash(), 2, this.clock);
    return { rows: this.rows(shard), sequence: shard.position.sequence };
  }
}

describe('accepted batches', () => {
  it('are read at once, and applied after a while', async () => {
    const bench = new Bench();
    bench.accept({ a: '1', b: '1' });
    bench.accept({ b: null, c: '2' });
    expect(bench.rows()).toEqual({ a: '1', c: '2' });
    await settle();
    expect(bench.flushed()).toEqual({ rows: {}, sequence: 0 });
    bench.clock.advance(50);
    await settle();
    expect(bench.flushed()).toEqual({ rows: { a: '1', c: '2' }, sequence: 2 });
    expect([bench.writer.isSettled, bench.writer.memtables, bench.writer.pendingBytes]).toEqual([
      true,
      [],
      0,
    ]);
    expect(bench.rows()).toEqual({ a: '1', c: '2' });
  });

  it('are applied at once when there are many bytes of them', async () => {
    const bench = new Bench({ applyBytes: 500, applyDelayMs: 50 });
    bench.accept({ a: 'x'.repeat(400) });
    await settle();
    expect(bench.flushed().sequence).toBe(0);
    bench.accept({ b: 'x'.repeat(400) });
    await settle();
    expect(bench.flushed().sequence).toBe(2);
    expect(bench.clock.alarms).toBe(0);
  });

  it('are released in the log when they are flushed, not before [DUR-018]', async () => {
    const bench = new Bench();
    bench.accept({ a: '1' });
    let failed = false;
    bench.fail = (step) => {
      if (step !== 'flush' || failed) return undefined;
      failed = true;
      expect(bench.log.releases).toEqual([]);
      return full;
    };
    await bench.writer.settle();
    expect([failed, bench.log.releases]).toEqual([true, []]);
    await bench.writer.settle();
    expect(bench.log.releases).toEqual([['a', 1]]);
    expect(bench.flushed().sequence).toBe(1);
  });

  it('reach the shard after the log is flushed, so that the shard is never ahead of it', async () => {
    const bench = new Bench();
    const { promise, resolve } = Promise.withResolvers<number>();
    bench.log.flush = () => promise;
    bench.accept({ a: '1' });
    const settled = bench.writer.settle();
    await settle();
    expect(bench.writer.shard.position.sequence).toBe(0);
    expect(bench.read('a', bench.writer.shard)).toBeUndefined();
    resolve(1);
    await settled;
    expect(bench.flushed()).toEqual({ rows: { a: '1' }, sequence: 1 });
  });

  it('stay readable when the log cannot be flushed', async () => {
    const bench = new Bench();
    bench.log.flush = () => Promise.reject(new ServiceError('WRITES_STOPPED'));
    bench.accept({ a: '1' });
    await bench.writer.settle();
    expect(bench.read('a')).toBe('1');
    expect([bench.flushed().sequence, bench.failures.length, bench.writer.lagging]).toEqual([0, 1, true]);
  });
});

describe('a large application', () => {
  const many = Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`k${index}`, 'v']));

  it('is cut into parts, of which only the last carries the position', async () => {
    const positions: number[] = [];
    const bench = new Bench(undefined, (shard) => {
      const apply = shard.apply.bind(shard);
      shard.apply = (writes: readonly Write[], position: ShardPosition): Applied => {
        positions.push(position.sequence);
        return apply(writes, position);
      };
      return shard;
    });
    bench.accept(many);
    await bench.writer.settle();
    expect(positions).toEqual([0, 0, 1]);
    expect(Object.keys(bench.flushed().rows)).toHaveLength(9000);
  });

  it('shows all of it to every reader while parts of it are in the shard', async () => {
    const bench = new Bench();
    bench.accept({ ...many });
    const settled = bench.writer.settle();
    const pins = [];
    while (!bench.writer.isSettled) {
      expect(Object.keys(bench.rows())).toHaveLength(9000);
      pins.push(bench.writer.pin());
      await settle(1);
    }
    await settled;
    bench.accept({ k0: null, new: '1' });
    await bench.writer.settle();
    expect(pins.length).toBeGreaterThan(4);
    for (const pin of pins) {
      expect(Object.keys(bench.rows(pin))).toHaveLength(9000);
      pin.close();
    }
  });

  it('is not done when the flush of an earlier part failed, although the last one worked', async () => {
    let part = 0;
    const bench = new Bench(undefined, (shard) => {
      const apply = shard.apply.bind(shard);
      shard.apply = (writes: readonly Write[], position: ShardPosition): Applied => {
        part += 1;
        const applied = apply(writes, position);
        if (part !== 1) return applied;
        const flushed = applied.flushed.then(() => {
          throw full;
        });
        flushed.catch(() => {});
        return { committed: applied.committed, flushed };
      };
      return shard;
    });
    bench.accept(many);
    await bench.writer.settle();
    expect([bench.log.releases, bench.failures, bench.writer.isSettled]).toEqual([[], [full], false]);
    await bench.writer.settle();
    expect(bench.log.releases).toEqual([['a', 1]]);
  });
});

describe('rows that are gone before they are applied', () => {
  it('are never written to the shard', async () => {
    const written: string[] = [];
    const bench = new Bench(undefined, (shard) => {
      const apply = shard.apply.bind(shard);
      shard.apply = (writes: readonly Write[], position: ShardPosition): Applied => {
        written.push(...writes.map(({ key }) => key));
        return apply(writes, position);
      };
      return shard;
    });
    bench.accept({ a: '1', b: '1' }, {});
    bench.accept({ a: null });
    bench.accept({ b: '2' });
    await bench.writer.settle();
    expect([written, bench.flushed()]).toEqual([['b'], { rows: { b: '2' }, sequence: 3 }]);
  });

  it('are removed from the shard when an application that failed had brought them there', async () => {
    const bench = new Bench();
    let parts = 0;
    bench.fail = (step) => {
      if (step === 'commit') parts += 1;
      return parts > 1 ? full : undefined;
    };
    bench.accept(Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`k${index}`, 'v'])), {});
    await bench.writer.settle();
    expect(bench.read('k0', bench.writer.shard)).toBe('v');
    bench.accept({ k0: null });
    // Twice, so that what is being applied is merged with it.
    await bench.writer.settle();
    await bench.writer.settle();
    expect(bench.failures.length).toBeGreaterThan(2);
    bench.fail = () => undefined;
    await bench.writer.settle();
    expect([bench.flushed().sequence, bench.flushed().rows.k0, bench.read('k0')]).toEqual([
      2,
      undefined,
      undefined,
    ]);
  });
});

describe('a pinned reader', () => {
  it('sees one state, even if later changes are accepted, applied or reopened', async () => {
    const bench = new Bench();
    bench.accept({ a: '1' });
    await bench.writer.settle();
    bench.accept({ a: '2', b: '2' });
    const pin = bench.writer.pin();
    bench.accept({ a: '3', b: null, c: '3' });
    expect(bench.rows(pin)).toEqual({ a: '2', b: '2' });
    await bench.writer.settle();
    bench.accept({ d: '4' });
    await bench.writer.settle();
    expect(bench.rows(pin)).toEqual({ a: '2', b: '2' });
    expect(bench.rows()).toEqual({ a: '3', c: '3', d: '4' });
    pin.close();
    expect(() => pin.get(0, 'zzz')).toThrow(expect.objectContaining({ code: 'SHUTTING_DOWN' }));
  });
});

describe('an application that fails', () => {
  it.each(['commit', 'flush'] as const)(
    'at its %s loses nothing from sight, opens the shard again and is repeated',
    async (step) => {
      const bench = new Bench();
      bench.accept({ a: '1' });
      await bench.writer.settle();
      bench.accept({ a: '2' });
      bench.fail = (now) => (now === step ? full : undefined);
      await bench.writer.settle();
      expect(bench.opened).toBe(2);
      expect([bench.read('a'), bench.read('a', bench.writer.shard)]).toEqual(['2', '1']);
      expect([bench.failures, bench.writer.lagging, bench.writer.isSettled]).toEqual([[full], true, false]);
      bench.accept({ b: '3' });
      bench.fail = () => undefined;
      await bench.writer.settle();
      expect(bench.flushed()).toEqual({ rows: { a: '2', b: '3' }, sequence: 3 });
      expect([bench.writer.lagging, bench.log.releases.at(-1)]).toEqual([false, ['a', 3]]);
    },
  );

  it('is tried again after a while although nothing more is accepted', async () => {
    const bench = new Bench();
    bench.accept({ a: '1' });
    bench.fail = () => full;
    bench.clock.advance(50);
    await settle();
    expect(bench.failures).toHaveLength(1);
    bench.clock.advance(500);
    await settle();
    expect(bench.failures).toHaveLength(2);
    bench.fail = () => undefined;
    bench.clock.advance(499);
    await settle();
    expect(bench.flushed().sequence).toBe(0);
    bench.clock.advance(1);
    await settle();
    expect(bench.flushed()).toEqual({ rows: { a: '1' }, sequence: 1 });
  });

  it('is not tried more often because more is accepted', async () => {
    const bench = new Bench({ applyBytes: 10, applyDelayMs: 50 });
    bench.fail = () => full;
    for (let number = 0; number < 30; number += 1) {
      bench.accept({ [`k${number}`]: 'x'.repeat(100) });
      await settle();
    }
    expect(bench.failures).toHaveLength(1);
    expect(Object.keys(bench.rows())).toHaveLength(30);
  });

  it('does not pile up memtables for as long as it lasts', async () => {
    const bench = new Bench({ applyBytes: 10, applyDelayMs: 50 });
    bench.fail = () => full;
    const pins = [];
    for (let number = 0; number < 40; number += 1) {
      bench.accept({ [`k${number}`]: `${number}`, same: `${number}` });
      pins.push([number, bench.writer.pin()] as const);
      await settle(2);
      if (number % 5 === 0) bench.clock.advance(500);
      await settle();
    }
    expect(bench.writer.memtables.length).toBeLessThan(15);
    expect(bench.rows().same).toBe('39');
    // Pinned over a shard that was closed since: a clean error at worst, never a wrong answer.
    for (const [number, pin] of pins) {
      expect(bench.read('same', pin)).toBe(`${number}`);
      pin.close();
    }
  });

  it('continues when the shard cannot be reopened at once', async () => {
    const bench = new Bench();
    bench.accept({ a: '1' });
    await bench.writer.settle();
    bench.accept({ b: '2' });
    bench.fail = () => full;
    bench.failOpen = new ServiceError('WRITES_STOPPED');
    await bench.writer.settle();
    expect(bench.failures).toEqual([full, bench.failOpen]);
    expect(bench.read('b')).toBe('2');
    expect(() => bench.read('a')).toThrow(expect.objectContaining({ code: 'SHUTTING_DOWN' }));
    bench.fail = () => undefined;
    bench.failOpen = undefined;
    bench.clock.advance(500);
    await settle();
    expect(bench.read('a')).toBe('1');
    bench.clock.advance(500);
    await settle();
    expect(bench.flushed()).toEqual({ rows: { a: '1', b: '2' }, sequence: 2 });
  });
});

describe('a shard that is reopened with less than it had', () => {
  it('is not used: its reads fail instead of showing a part', async () => {
    const bench = new Bench();
    bench.accept({ a: '1' });
    await bench.writer.settle();
    bench.accept({ b: '2' });
    bench.fail = () => full;
    // As when somebody takes the files away under the running process.
    bench.disk.flush(new MemoryDisk().flushed);
    await bench.writer.settle();
    expect(bench.failures).toMatchObject([{ code: 'STORAGE_FULL' }, { code: 'DATA_CORRUPTED' }]);
    expect(() => bench.read('a')).toThrow(expect.objectContaining({ code: 'SHUTTING_DOWN' }));
    bench.fail = () => undefined;
    await bench.writer.settle();
    expect([bench.flushed().sequence, bench.writer.isSettled]).toEqual([0, false]);
  });
});

describe('closing a writer', () => {
  it('applies what is pending first', async () => {
    const bench = new Bench();
    bench.accept({ a: '1' });
    await bench.writer.close();
    expect(bench.flushed()).toEqual({ rows: { a: '1' }, sequence: 1 });
    expect([bench.clock.alarms, bench.writer.isSettled]).toEqual([0, true]);
  });

  it('closes the shard before it returns when nothing is pending', () => {
    const bench = new Bench();
    void bench.writer.close();
    expect(() => bench.read('a')).toThrow(expect.objectContaining({ code: 'SHUTTING_DOWN' }));
  });

  it('ends although nothing can be applied, and releases nothing', async () => {
    const bench = new Bench();
    bench.accept({ a: '1' });
    bench.fail = () => full;
    await bench.writer.close();
    expect([bench.log.releases, bench.clock.alarms, bench.writer.isSettled]).toEqual([[], 0, false]);
  });

  it('can be done without applying', async () => {
    const bench = new Bench();
    bench.accept({ a: '1' });
    await bench.writer.abandon();
    await settle();
    expect([bench.flushed(), bench.clock.alarms]).toEqual([{ rows: {}, sequence: 0 }, 0]);
  });

  it('waits for the application under way, also without applying more', async () => {
    const bench = new Bench();
    bench.accept({ a: '1' });
    const settled = bench.writer.settle();
    bench.accept({ b: '2' });
    await bench.writer.abandon();
    await settled;
    expect(bench.flushed().sequence).toBeGreaterThanOrEqual(1);
  });
});

describe('a copy', () => {
  /** A bench whose shards tell when they are copied. */
  function copied(): { readonly bench: Bench; readonly copies: unknown[] } {
    const copies: unknown[] = [];
    const bench: Bench = new Bench(undefined, (shard) => {
      shard.copyTo = async () => void copies.push(bench.rows(shard));
      return shard;
    });
    return { bench, copies };
  }

  it('has everything that was accepted, and nothing that came later', async () => {
    const { bench, copies } = copied();
    bench.accept({ a: '1' });
    const copy = bench.writer.copyTo('anywhere', () => {});
    bench.accept({ b: '2' });
    expect(await copy).toMatchObject({ sequence: 1 });
    expect(copies).toEqual([{ a: '1' }]);
  });

  it('is not made when what was accepted cannot be applied', async () => {
    const { bench, copies } = copied();
    let isFinished = false;
    bench.accept({ a: '1' });
    bench.fail = () => full;
    const copy = bench.writer.copyTo('anywhere', () => {
      isFinished = true;
    });
    await expect(copy).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect([copies, isFinished]).toEqual([[], false]);
  });

  it('is not begun any more when the writer was closed while it waited', async () => {
    const { bench, copies } = copied();
    bench.accept({ a: '1' });
    const settled = bench.writer.settle();
    const copy = bench.writer.copyTo('anywhere', () => {});
    const closed = bench.writer.close();
    await expect(copy).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await Promise.all([settled, closed]);
    expect([copies, bench.flushed().sequence]).toEqual([[], 1]);
    await expect(bench.writer.copyTo('anywhere', () => {})).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
  });
});

/** What happens between two looks. */
const steps = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.dictionary(
        fc.constantFrom('a', 'b', 'c', 'd'),
        fc.option(fc.string({ maxLength: 3 }), { nil: null }),
        { minKeys: 1 },
      ),
    },
    { weight: 3, arbitrary: fc.constantFrom('turn' as const) },
    { weight: 2, arbitrary: fc.constantFrom('delay' as const, 'retry' as const, 'pin' as const) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('break commit' as const, 'break flush' as const, 'mend' as const),
    },
  ),
  { maxLength: 40 },
);

describe('at every moment', () => {
  it('a reader sees everything accepted, a pin what was accepted then, and a crash leaves what the log can complete', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const bench = new Bench({ applyBytes: 400, applyDelayMs: 50 });
        const model: Record<string, string> = {};
        /** What was there after each batch. */
        const history: Record<string, string>[] = [{}];
        const batches: Record<string, string | null>[] = [];
        const pins: [Record<string, string>, ReturnType<ShardWriter['pin']>][] = [];
        for (const step of list) {
          if (step === 'turn') await settle(1);
          else if (step === 'delay') bench.clock.advance(50);
          else if (step === 'retry') bench.clock.advance(500);
          else if (step === 'pin') pins.push([{ ...model }, bench.writer.pin()]);
          else if (step === 'mend') bench.fail = () => undefined;
          else if (step === 'break commit') bench.fail = (now) => (now === 'commit' ? full : undefined);
          else if (step === 'break flush') bench.fail = (now) => (now === 'flush' ? full : undefined);
          else {
            bench.accept(step, model);
            batches.push(step);
            for (const [key, text] of Object.entries(step))
              if (text === null) delete model[key];
              else model[key] = text;
            history.push({ ...model });
          }
          expect(bench.rows()).toEqual(model);
          for (const key of ['a', 'b', 'c', 'd']) expect(bench.read(key)).toBe(model[key]);
          const { rows, sequence } = bench.flushed();
          // Everything behind its position put on top makes it whole, also where a part is in it already.
          const completed = { ...rows };
          for (const batch of batches.slice(sequence))
            for (const [key, text] of Object.entries(batch))
              if (text === null) delete completed[key];
              else completed[key] = text;
          expect(completed).toEqual(model);
          for (const [, upTo] of bench.log.releases) expect(upTo).toBeLessThanOrEqual(sequence);
        }
        for (const [rows, pin] of pins) {
          let seen: Record<string, string> | undefined;
          try {
            seen = bench.rows(pin);
          } catch (error) {
            expect(error).toMatchObject({ code: 'SHUTTING_DOWN' });
            expect(bench.failures.length).toBeGreaterThan(0);
          }
          if (seen !== undefined) expect(seen).toEqual(rows);
          pin.close();
        }
        bench.fail = () => undefined;
        await bench.writer.settle();
        await bench.writer.settle();
        expect(bench.flushed()).toEqual({ rows: model, sequence: batches.length });
      }),
      { numRuns: 100 },
    );
  });

  it('applies large values in transactions of bounded bytes', async () => {
    const sizes: number[][] = [];
    const bench = new Bench(undefined, (shard) => {
      const { apply } = shard;
      shard.apply = (writes, position) => {
        sizes.push(writes.map(({ value }) => value?.length ?? 0));
        return apply.call(shard, writes, position);
      };
      return shard;
    });
    const half = TRANSACTION_BYTES_MAX / 2;
    const text = 'x'.repeat(half);
    bench.accept({ a: text, b: text, c: text, d: text, e: 'small' });
    await bench.writer.settle();
    expect(sizes).toEqual([[half, half], [half, half], [5]]);
  });
});
