import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { InvariantError } from '#runtime/base/assert.ts';
import { ENTRY_BYTES_MAX, type LogEntry } from '#runtime/log/log-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import {
  entriesOf,
  logEntries,
  numberedEntry,
  numberOf,
  plain,
  recordsOf,
} from '#test/support/log-entries.ts';

/** One log that can be opened again and again. */
export interface LogHarness {
  /** Opens the log; the one opened before was closed. */
  open(): Promise<Log>;
  /** Removes everything. */
  dispose(): Promise<void>;
}

/**
 * What every implementation of the `Log` port must do.
 *
 * @param create makes an empty log
 */
export function logConformance(name: string, create: () => Promise<LogHarness>): void {
  describe(`Log: ${name}`, () => {
    let harness: LogHarness;
    let log: Log;

    beforeEach(async () => {
      harness = await create();
      log = await harness.open();
    });

    afterEach(async () => {
      await log.close();
      await harness.dispose();
    });

    async function reopen(): Promise<void> {
      await log.close();
      log = await harness.open();
    }

    it('is empty in the beginning', async () => {
      expect(log.lastSequence).toBe(0);
      expect(log.lastClock).toEqual({ ms: 0, counter: 0 });
      expect(log.pending().size).toBe(0);
      expect(await recordsOf(log)).toEqual([]);
    });

    it('acknowledges in call order with the sequence of the record that holds the entry', async () => {
      const answered: number[] = [];
      const sequences = await Promise.all(
        Array.from({ length: 200 }, async (_, number) => {
          const sequence = await log.append(numberedEntry(`actor${number % 7}`, number));
          answered.push(number);
          return sequence;
        }),
      );
      expect(answered).toEqual(Array.from({ length: 200 }, (_, number) => number));
      const records = await recordsOf(log);
      expect(records.map(({ sequence }) => sequence)).toEqual([...new Set(sequences)]);
      const held = records.flatMap(({ sequence, entries }) =>
        entries.map((entry) => [numberOf(entry), sequence]),
      );
      expect(held).toEqual(sequences.map((sequence, number) => [number, sequence]));
      expect(sequences).toEqual(sequences.toSorted((a, b) => a - b));
      expect(log.lastSequence).toBe(sequences.at(-1));
    });

    it('lets entries that arrive together share records', async () => {
      await Promise.all(Array.from({ length: 500 }, (_, number) => log.append(numberedEntry('a', number))));
      expect((await recordsOf(log)).length).toBeLessThan(250);
    });

    it('keeps every entry byte by byte, and across reopening', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(logEntries, { minLength: 1, maxLength: 20 }), async (entries) => {
          const before = log.lastSequence;
          await Promise.all(entries.map((entry) => log.append(entry)));
          expect((await entriesOf(log, before)).map(plain)).toEqual(entries.map(plain));
          await reopen();
          expect((await entriesOf(log, before)).map(plain)).toEqual(entries.map(plain));
        }),
        { numRuns: 15 },
      );
    });

    it('keeps large values beside small ones', async () => {
      const large: LogEntry = {
        ...numberedEntry('large', 0),
        writes: [{ table: 1, key: 'large', value: Buffer.alloc(20 * 1024 * 1024, 'grove') }],
      };
      const entries = [numberedEntry('a', 1), large, numberedEntry('b', 2)];
      await Promise.all(entries.map((entry) => log.append(entry)));
      await reopen();
      const found = await entriesOf(log);
      expect(found.map(({ actor }) => actor)).toEqual(['a', 'large', 'b']);
      expect(Buffer.from(found[1]?.writes[0]?.value ?? []).equals(large.writes[0]?.value as Buffer)).toBe(
        true,
      );
    });

    it('encodes an entry before append returns, so its buffers may be used again', async () => {
      const entry = numberedEntry('a', 5);
      const expected = plain(entry);
      const appended = log.append(entry);
      entry.writes[0]?.value?.fill(0xff);
      await appended;
      expect((await entriesOf(log)).map(plain)).toEqual([expected]);
    });

    it('reads what is behind a sequence and nothing else', async () => {
      const sequences: number[] = [];
      for (let number = 0; number < 5; number += 1)
        sequences.push(await log.append(numberedEntry('a', number)));
      const found = await recordsOf(log, sequences[2]);
      expect(found.map(({ sequence }) => sequence)).toEqual(sequences.slice(3));
      expect(await recordsOf(log, sequences[4])).toEqual([]);
    });

    it('refuses an entry it cannot hold and continues with the others', async () => {
      const bad = { ...numberedEntry('a', 1), writes: [{ table: 1, key: 'Ā', value: null }] };
      const huge = {
        ...numberedEntry('a', 2),
        writes: [{ table: 1, key: 'k', value: new Uint8Array(ENTRY_BYTES_MAX) }],
      };
      const good = log.append(numberedEntry('a', 0));
      await expect(log.append(bad)).rejects.toThrow(InvariantError);
      await expect(log.append(huge)).rejects.toMatchObject({ code: 'COMMIT_TOO_LARGE' });
      await good;
      await log.append(numberedEntry('a', 3));
      expect((await entriesOf(log)).map(numberOf)).toEqual([0, 3]);
    });

    it('remembers the highest clock there ever was, across reopening and release [DUR-013]', async () => {
      await log.append({ actor: 'a', writes: [], clock: { ms: 5000, counter: 7 } });
      const last = await log.append({ actor: 'b', writes: [], clock: { ms: 4000, counter: 9 } });
      expect(log.lastClock).toEqual({ ms: 5000, counter: 7 });
      log.released('a', last);
      log.released('b', last);
      await reopen();
      expect(log.lastClock).toEqual({ ms: 5000, counter: 7 });
      await log.append({ actor: 'a', writes: [], clock: { ms: 5000, counter: 8 } });
      expect(log.lastClock).toEqual({ ms: 5000, counter: 8 });
    });

    it('never restarts its numbers, also when everything was released', async () => {
      let before = 0;
      for (let round = 1; round <= 4; round += 1) {
        const sequence = await log.append(numberedEntry('a', round));
        expect(sequence).toBeGreaterThan(before);
        log.released('a', sequence);
        await reopen();
        expect(log.lastSequence).toBe(sequence);
        before = sequence;
      }
    });

    it('names the actors with entries not released', async () => {
      const first = await log.append(numberedEntry('a', 1));
      const middle = await log.append(numberedEntry('b', 2));
      const last = await log.append(numberedEntry('a', 3));
      expect(log.pending()).toEqual(
        new Map([
          ['a', { first, last }],
          ['b', { first: middle, last: middle }],
        ]),
      );
      log.released('a', first);
      expect(log.pending().get('a')?.last).toBe(last);
      expect(log.pending().get('a')?.first).toBeGreaterThan(first);
      log.released('a', last);
      log.released('a', first);
      expect([...log.pending().keys()]).toEqual(['b']);
      log.released('b', last);
      expect(log.pending().size).toBe(0);
    });

    it('names every actor again after reopening, because no shard has spoken yet', async () => {
      const a = await log.append(numberedEntry('a', 1));
      const first = await log.append(numberedEntry('b', 2));
      const last = await log.append(numberedEntry('b', 3));
      await reopen();
      expect(log.pending()).toEqual(
        new Map([
          ['a', { first: a, last: a }],
          ['b', { first, last }],
        ]),
      );
    });

    it('makes durable on close what was appended before, and refuses later entries', async () => {
      const appended = Array.from({ length: 20 }, (_, number) => log.append(numberedEntry('a', number)));
      const closed = log.close();
      await expect(log.append(numberedEntry('a', 99))).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
      await closed;
      await log.close();
      await Promise.all(appended);
      log = await harness.open();
      expect((await entriesOf(log)).map(numberOf)).toEqual(Array.from({ length: 20 }, (_, number) => number));
    });
  });
}
