import type { GuardMutant } from './guard-mutant.ts';

const shardTests = ['test/runtime/shard/large-value.test.ts'];
const largeReads = ['test/actors/branch/merge/large-reads.test.ts'];

/** The safety guards of values that are stored in pieces. */
export const largeValueGuards: readonly GuardMutant[] = [
  {
    guard: 'a value that looks like the row of a large one is stored in pieces',
    file: 'runtime/shard/large-value.ts',
    from: '(value.length === STUB_BYTES && startsAsStub(value))',
    to: 'false',
    tests: shardTests,
  },
  {
    guard: 'a piece of another length is no piece',
    file: 'runtime/shard/large-value.ts',
    from: 'piece === undefined || piece.length !== bytes',
    to: 'piece === undefined',
    tests: shardTests,
  },
  {
    guard: 'the pieces of a value go with it',
    file: 'runtime/shard/large-rows.ts',
    from: 'void this.pieces.remove(pieceKey(found.number, index));',
    to: '',
    tests: shardTests,
  },
  {
    guard: 'the pieces of a value that the same application wrote go with it',
    file: 'runtime/shard/large-rows.ts',
    from: 'large.set(place, added);',
    to: '',
    tests: shardTests,
  },
  {
    guard: 'what a build wrote that knew no pieces is never taken for the row of a large value',
    file: 'runtime/shard/large-rows.ts',
    from: 'if (value === undefined || this.#newest === 0) return value;',
    to: 'if (value === undefined) return value;',
    tests: shardTests,
  },
  {
    guard: 'the number of the newest large value is kept',
    file: 'runtime/shard/lmdb-shard.ts',
    from: 'void this.#system.put(LARGE_KEY, encodeLarge(this.#large.newest));',
    to: '',
    tests: shardTests,
  },
  {
    guard: 'a shard with pieces has the format that says so',
    file: 'runtime/shard/lmdb-shard.ts',
    from: 'if (newest === 0) void this.#system.put(FORMAT_KEY, Uint8Array.of(SHARD_FORMAT));',
    to: '',
    tests: shardTests,
  },
  {
    guard: 'a check finds pieces that no row has',
    file: 'runtime/shard/page-file.ts',
    from: 'else if (most === undefined)',
    to: 'else if (most === 0)',
    tests: shardTests,
  },
  {
    guard: 'a damaged row of a large value names no other one',
    file: 'runtime/shard/large-value.ts',
    from: 'if (stub.readUInt32BE(CHECKSUM_AT) !== checksum(stub, table, key))',
    to: 'if (stub.length === 0)',
    tests: shardTests,
  },
  {
    guard: 'the row of a large value counts only in its place',
    file: 'runtime/shard/large-value.ts',
    from: ", crc32(Buffer.from(placeOf(table, key), 'latin1'))",
    to: '',
    tests: shardTests,
  },
  {
    guard: 'a value has no more pieces than its length says',
    file: 'runtime/shard/page-file.ts',
    from: 'else if (piece.index >= most)',
    to: 'else if (piece.index < 0)',
    tests: shardTests,
  },
  {
    guard: 'a listed row of a large value has it',
    file: 'runtime/shard/page-file.ts',
    from: ' || places.get(number) !== place',
    to: '',
    tests: shardTests,
  },
  {
    guard: 'an open shard knows the rows of its large values again',
    file: 'runtime/shard/large-rows.ts',
    from: 'places.add(Buffer.from(value.buffer, value.byteOffset, value.byteLength).latin1Slice());',
    to: '',
    tests: shardTests,
  },
  {
    guard: 'a length that no value has takes no memory',
    file: 'runtime/shard/large-value.ts',
    from: 'if (large.length > LARGE_BYTES_MAX)',
    to: 'if (large.length < 0)',
    tests: shardTests,
  },
  {
    guard: 'a large record that was read in steps is verified',
    file: 'runtime/tree/node-record.ts',
    from: 'if (crc === new DataView(bytes.buffer, bytes.byteOffset).getUint32(CRC_AT)) verified',
    to: 'verified',
    tests: ['test/runtime/tree/node-record.test.ts'],
  },
  {
    guard: 'what was read of a value counts only while the node has that value',
    file: 'actors/branch/pair/pair-queries.ts',
    from: 'if (reading?.large.number !== found.number) reading = new PartRead(found);',
    to: 'reading ??= new PartRead(found);',
    tests: largeReads,
  },
];
