import type { GuardMutant } from './guard-mutant.ts';

const formats = ['test/runtime/tree/record/record-formats.test.ts'];
const view = ['test/runtime/tree/record/record-view.test.ts'];

/** The safety guards of node records. */
export const recordGuards: readonly GuardMutant[] = [
  {
    guard: 'a row that leaves a scan is verified',
    file: 'runtime/tree/record/check-record.ts',
    from: 'if (crc32(bytes.subarray(CHECKED_FROM, length)) !== bytes.readUInt32BE(CRC_AT)) throw damagedRecord();',
    to: '',
    tests: view,
  },
  {
    guard: 'a large record that was read in steps is verified',
    file: 'runtime/tree/record/check-record.ts',
    from: 'if (crc === new DataView(bytes.buffer, bytes.byteOffset).getUint32(CRC_AT)) verified',
    to: 'verified',
    tests: ['test/runtime/tree/record/node-record.test.ts'],
  },
  {
    guard: 'a record of a newer format is refused with what to do',
    file: 'runtime/tree/record/check-record.ts',
    from: 'format > NODE_RECORD_FORMAT)',
    to: 'format > 255)',
    tests: formats,
    only: 'of a newer format is refused, with what to do',
  },
  {
    guard: 'a record whose header is known has the format of its bytes',
    file: 'runtime/tree/record/node-record.ts',
    from: ': knownLayout(buffer, buffer.length)',
    to: ': knownLayout(Buffer.of(2), Number.POSITIVE_INFINITY)',
    tests: formats,
    only: 'is the same for who gives it the header that it has',
  },
  {
    guard: 'no facts are read of a record that is too short for them',
    file: 'runtime/tree/record/check-record.ts',
    from: 'layout !== undefined && length >= layout.bytesMin',
    to: 'layout !== undefined',
    tests: view,
  },
  {
    guard: 'a scan reads no part outside of its record',
    file: 'runtime/tree/record/record-view.ts',
    from: 'if (!layout.isSound(bytes, total)) throw damagedRecord();',
    to: '',
    tests: view,
  },
  {
    guard: 'a scan reads no column outside of the columns',
    file: 'runtime/tree/record/record-view.ts',
    from: 'if (from >= to || to > this.#propertiesAt) throw damagedRecord();',
    to: '',
    tests: view,
  },
  {
    guard: 'a scan reads no property outside of the properties',
    file: 'runtime/tree/record/record-view.ts',
    from: 'this.#valueAt >= this.#valueEnd || this.#valueEnd > this.#layout.propertiesEnd(bytes)',
    to: 'false',
    tests: view,
  },
  {
    guard: 'a first piece has no columns that are not in it',
    file: 'runtime/tree/record/record-view.ts',
    from: '(layout.placesColumns && this.#propertiesAt <= length)',
    to: 'layout.placesColumns',
    tests: view,
  },
  {
    guard: 'a property is taken for the one of its place only when it has its name',
    file: 'runtime/tree/record/property-table.ts',
    from: 'if (isKey(bytes, from, likely, start, key)) return likely;',
    to: 'return likely;',
    tests: view,
  },
  {
    guard: 'a number that a double may not represent is no plain one',
    file: 'runtime/tree/record/plain-number.ts',
    from: 'digits === 0 || digits > DIGITS_MAX',
    to: 'digits === 0',
    tests: view,
  },
  {
    guard: 'a text with characters of several bytes is not remembered',
    file: 'runtime/tree/record/short-text.ts',
    from: 'if (text.length === length) remembered',
    to: 'remembered',
    tests: view,
  },
  {
    guard: 'a column with escapes is not compared by its bytes',
    file: 'runtime/tree/record/encode-record.ts',
    from: "columns.includes('\\\\') ? Flag.escapes : 0",
    to: '0',
    tests: formats,
  },
  {
    guard: 'a record says that its properties may contain a reference',
    file: 'runtime/tree/record/encode-record.ts',
    from: '  if (mayRefer) setRefers(bytes);',
    to: '',
    tests: formats,
  },
  {
    guard: 'a revision that would come back in another form is not stored',
    file: 'runtime/tree/record/revision-bytes.ts',
    from: 'to <= from || (text.charCodeAt(from) === zero && to > from + 1)',
    to: 'false',
    tests: formats,
    only: 'in place of a revision',
  },
];
