import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { EntryGroup } from '#runtime/embedded/journal/journal-group.ts';
import { readEntryTable } from '#runtime/embedded/segments/entry-table.ts';
import { RECORD_FOOTER_BYTES, RECORD_HEADER_BYTES } from '#runtime/embedded/segments/journal-format.ts';
import { entrySize } from '#runtime/log/entry-codec.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';

function entryOf(bytes: number): LogEntry {
  const value = new Uint8Array(bytes).map((_, index) => index * 7);
  return { actor: 'default/a', writes: [{ table: 1, key: 'k', value }], clock: { ms: 1, counter: 0 } };
}

it.each([
  ['one small entry', [100], 0],
  ['one large entry', [5_000_000], 2],
  ['many small entries', Array<number>(200).fill(500), 0],
  ['large entries', [1_500_000, 1_500_000, 1_500_000], 2],
  ['small entries before, between and after large ones', [10, 2_500_000, 20, 30, 2_500_000, 40], 2],
])('%s have each a checksum, and one of all, in short steps', async (_, sizes, rests) => {
  let rested = 0;
  const clock: Clock = {
    ...systemClock,
    soon: (callback) => {
      rested += 1;
      callback();
    },
  };
  const group = new EntryGroup();
  const durable = sizes.map((size) => {
    const entry = entryOf(size);
    return group.add(entry, entrySize(entry));
  });
  const sum = await group.checksum(clock);
  expect(rested).toBe(rests);
  const place = { salt: 1, offset: 0 };
  const previousChain = Buffer.alloc(16);
  const seal = { sequence: 1, durableSequence: 0, clock: { ms: 0, counter: 0 }, previousChain, place };
  const { record } = group.seal(seal, sum);
  const end = record.length - RECORD_FOOTER_BYTES;
  const table = readEntryTable(record, end, { salt: 1, end });
  const entriesEnd = end - (table?.bytes ?? 0);
  expect(sum).toBe(crc32(record.subarray(RECORD_HEADER_BYTES, entriesEnd)));
  let at = RECORD_HEADER_BYTES;
  for (const { bytes, crc } of table?.rows ?? []) {
    expect(crc).toBe(crc32(record.subarray(at, at + bytes)));
    at += bytes;
  }
  expect([table?.rows.length, at]).toEqual([sizes.length, entriesEnd]);
  group.resolve(1);
  await Promise.all(durable);
});
