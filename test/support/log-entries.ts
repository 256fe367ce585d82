import fc from 'fast-check';
import type { Log } from '#runtime/log/ports.ts';
import type { LogEntry, LogRecord, Write } from '#runtime/log/log-entry.ts';

/** Any key: every byte value, also the empty one. */
export const binaryKeys: fc.Arbitrary<string> = fc
  .uint8Array({ maxLength: 60 })
  .map((bytes) => Buffer.from(bytes).toString('latin1'));

/** Any write: values, empty values, removals. */
export const writes: fc.Arbitrary<Write> = fc.record({
  table: fc.integer({ min: 0, max: 0xffff }),
  key: binaryKeys,
  value: fc.option(fc.uint8Array({ maxLength: 700 }), { nil: null }),
});

/** Any entry; often without writes. */
export const logEntries: fc.Arbitrary<LogEntry> = fc.record({
  actor: fc.constantFrom('t/r/main/branch', 't/r/locks', 'tenant:ö', 'x'),
  writes: fc.array(writes, { maxLength: 6 }),
  clock: fc.record({
    ms: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
    counter: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  }),
});

/** An entry of one write whose content tells which one it is. */
export function numberedEntry(actor: string, number: number, valueBytes = 40): LogEntry {
  const value = Buffer.alloc(valueBytes, number);
  value.writeUInt32LE(number, 0);
  return {
    actor,
    writes: [{ table: 1, key: `k${number}`, value }],
    clock: { ms: 1000 + number, counter: 0 },
  };
}

/** The number of {@link numberedEntry}. */
export function numberOf(entry: LogEntry): number {
  return Buffer.from(entry.writes[0]?.value ?? []).readUInt32LE(0);
}

/** Entries as plain values, so that views of different buffers compare by content. */
export function plain(entry: LogEntry): unknown {
  const { actor, clock } = entry;
  const plainWrites = entry.writes.map(({ table, key, value }) => {
    return [table, key, value === null ? null : Buffer.from(value).toString('base64')];
  });
  return { actor, clock: { ...clock }, writes: plainWrites };
}

/** Everything a log holds behind a sequence. */
export async function recordsOf(log: Log, afterSequence = 0): Promise<LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const record of log.read(afterSequence)) records.push(record);
  return records;
}

/** The entries a log holds behind a sequence, in order. */
export async function entriesOf(log: Log, afterSequence = 0): Promise<LogEntry[]> {
  return (await recordsOf(log, afterSequence)).flatMap(({ entries }) => entries);
}
