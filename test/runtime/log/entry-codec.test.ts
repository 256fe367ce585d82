import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvariantError } from '#runtime/base/assert.ts';
import {
  decodeEntries,
  decodeEntry,
  encodeEntry,
  encodeLargeEntry,
  entrySize,
  outlineEntry,
} from '#runtime/log/entry-codec.ts';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import { logEntries, numberedEntry, plain } from '#test/support/log-entries.ts';

function encoded(entry: LogEntry): Buffer {
  const bytes = Buffer.alloc(entrySize(entry), 0xaa);
  expect(encodeEntry(entry, bytes, 0)).toBe(bytes.length);
  return bytes;
}

const everyByte = String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte));

/** What takes an entry in slices writes, and how often it rests. */
function encodedInSlices({ actor, clock, writes }: LogEntry): {
  readonly bytes: Buffer;
  readonly rests: number;
} {
  const bytes = writes.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0);
  const steps = encodeLargeEntry({ actor, count: writes.length, bytes, writes }, () => clock);
  for (let rests = 0; ; rests++) {
    const step = steps.next();
    if (step.done === true) return { bytes: step.value, rests };
  }
}

describe('entry codec', () => {
  it('writes the same in slices', () => {
    fc.assert(
      fc.property(logEntries, (entry) => {
        const { bytes } = encodedInSlices(entry);
        expect(bytes.equals(encoded(entry))).toBe(true);
        expect(encoded({ ...entry, writes: [], encoded: bytes }).equals(bytes)).toBe(true);
      }),
    );
    const value = new Uint8Array(10);
    const writes = Array.from({ length: 1000 }, (_, index) => ({ table: 1, key: `${index}`, value }));
    expect(encodedInSlices({ ...numberedEntry('t/r/b/kind', 1), writes }).rests).toBe(7);
  });

  it('reads back what it wrote, in exactly the size it announced, at any offset', () => {
    fc.assert(
      fc.property(logEntries, fc.nat(50), (entry, offset) => {
        const bytes = Buffer.alloc(offset + entrySize(entry) + 5, 0xaa);
        const end = encodeEntry(entry, bytes, offset);
        expect(end).toBe(bytes.length - 5);
        expect(bytes.subarray(end)).toEqual(Buffer.alloc(5, 0xaa));
        const decoded = decodeEntry(bytes, offset);
        expect(plain(decoded.entry)).toEqual(plain(entry));
        expect(decoded.end).toBe(end);
        expect(outlineEntry(bytes, offset)).toEqual({ actor: entry.actor, end });
      }),
    );
  });

  it.each(['', '\0', everyByte.slice(0, 23), everyByte.slice(0, 24), everyByte, everyByte.repeat(255)])(
    'keeps every byte of a key, short or long (%#)',
    (key) => {
      const entry: LogEntry = { ...numberedEntry('a', 1), writes: [{ table: 0, key, value: null }] };
      expect(decodeEntry(encoded(entry), 0).entry.writes[0]?.key).toBe(key);
    },
  );

  it('distinguishes an empty value from a removal', () => {
    const writes = [
      { table: 1, key: 'empty', value: new Uint8Array() },
      { table: 1, key: 'removed', value: null },
    ];
    const { entry } = decodeEntry(encoded({ ...numberedEntry('a', 1), writes }), 0);
    expect(entry.writes.map(({ value }) => value?.length ?? null)).toEqual([0, null]);
  });

  it.each([
    ['a short key that is not binary', { table: 1, key: 'kĀ', value: null }],
    ['a long key that is not binary', { table: 1, key: `${'k'.repeat(40)}Ā`, value: null }],
    ['a key above its bound', { table: 1, key: 'k'.repeat(65_536), value: null }],
    ['a table above its bound', { table: 65_536, key: 'k', value: null }],
    ['a table that is no whole number', { table: 1.5, key: 'k', value: null }],
  ])('refuses %s instead of storing another key', (_, write) => {
    const entry = { ...numberedEntry('a', 1), writes: [write] };
    expect(() => encodeEntry(entry, Buffer.alloc(100_000), 0)).toThrow(InvariantError);
  });

  it.each(['', 'a'.repeat(1025)])('refuses an actor id outside its bounds (%#)', (actor) => {
    expect(() => encodeEntry(numberedEntry(actor, 1), Buffer.alloc(5000), 0)).toThrow(InvariantError);
  });

  it('refuses an entry cut at any byte', () => {
    const bytes = encoded(numberedEntry('t/r/main/branch', 7));
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => decodeEntry(bytes.subarray(0, length), 0)).toThrow(InvariantError);
    }
  });

  it('refuses a record with fewer or more entries than stated', () => {
    const bytes = Buffer.concat([encoded(numberedEntry('a', 1)), encoded(numberedEntry('b', 2))]);
    expect(decodeEntries(bytes, 2)).toHaveLength(2);
    expect(() => decodeEntries(bytes, 1)).toThrow(InvariantError);
    expect(() => decodeEntries(bytes, 3)).toThrow(InvariantError);
  });

  it('never reads outside an entry whose bytes are damaged', () => {
    const bytes = encoded(numberedEntry('t/r/main/branch', 7));
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, mask) => {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] as number) ^ mask;
        try {
          const { end } = decodeEntry(damaged, 0);
          expect(end).toBeLessThanOrEqual(damaged.length);
        } catch (error) {
          expect(error).toBeInstanceOf(InvariantError);
        }
      }),
    );
  });
});
