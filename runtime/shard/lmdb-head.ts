import { closeSync, fstatSync, readSync } from 'node:fs';
import { openRegularSync } from '#runtime/base/files/regular-file.ts';

/** Offsets in a meta page, in the layout that lmdb-js 3 writes on 64 bits. */
const PAGE_FLAGS_OFFSET = 18;
const MAGIC_OFFSET = 24;
const VERSION_OFFSET = 28;
const PAGE_SIZE_OFFSET = 48;
const FLAGS_OFFSET = 52;
const FREE_DEPTH_OFFSET = 54;
const FREE_ENTRIES_OFFSET = 80;
const FREE_ROOT_OFFSET = 88;
const MAIN_DEPTH_OFFSET = 102;
const MAIN_ENTRIES_OFFSET = 128;
const MAIN_ROOT_OFFSET = 136;
const LAST_PAGE_OFFSET = 144;
const TRANSACTION_OFFSET = 152;
const META_BYTES = 160;

/** Flag of the first two pages (`P_META`), which have no other. */
const META_PAGE = 0x08;

const MAGIC = 0xbeefc0de;
const VERSION = 2;

/** Flag of a root that was committed but not flushed when it was written (`MDB_OVERLAPPINGSYNC`). */
const UNFLUSHED = 0x1000;

/** Root of an empty table. */
const NO_PAGE = 0xffff_ffff_ffff_ffffn;

/** LMDB page sizes are 512 bytes to 64 KiB. */
const PAGE_BYTES_MIN = 512;
const PAGE_BYTES_MAX = 65_536;

/** Upper bound of the size of a shard in bytes. */
const FILE_BYTES_MAX = 2n ** 44n;

/** A root with its metadata. */
interface Meta {
  readonly pageBytes: number;
  readonly isFlushed: boolean;
  readonly freeRoot: bigint;
  readonly mainRoot: bigint;
  readonly lastPage: bigint;
  readonly transaction: bigint;
}

/** Result of checking the head of an LMDB file. */
export type HeadFinding =
  /** The file may be opened. `missingBytes` at its end were never written or were truncated. */
  | { readonly isSound: true; readonly missingBytes: number }
  /** Opening the file may crash the process. */
  | { readonly isSound: false; readonly reason: string };

/**
 * Checks what LMDB does not: it accepts any first two pages if the first one has the magic number, follows roots beyond
 * the end of a file, and crashes the process. The file is never changed.
 *
 * The roots alternate between the first two pages. The last flushed root is in the second half of the first page.
 *
 * @param path of a file that is not empty and is not being written
 */
export function inspectHead(path: string): HeadFinding {
  const descriptor = openRegularSync(path);
  try {
    const { size } = fstatSync(descriptor);
    const read = (offset: number): Buffer => {
      const bytes = Buffer.alloc(META_BYTES);
      readSync(descriptor, bytes, 0, META_BYTES, offset);
      return bytes;
    };
    return judge(read, size);
  } finally {
    closeSync(descriptor);
  }
}

/** A tree of an LMDB file. */
export interface StoredTree {
  readonly root: bigint;
  readonly depth: number;
  readonly entries: bigint;
}

/** The root of the tables that LMDB would use, in a file with a valid head. */
export interface TrustedRoot extends StoredTree {
  readonly pageBytes: number;
  readonly transaction: bigint;
  /** Number of the last page ever used. */
  readonly lastPage: bigint;
  /** Tree of the free pages, by the transaction that freed them. */
  readonly free: StoredTree;
}

/** @returns undefined when there is none, because nothing was ever written */
export function trustedRoot(path: string): TrustedRoot | undefined {
  const descriptor = openRegularSync(path);
  try {
    const read = (offset: number): Buffer => {
      const bytes = Buffer.alloc(META_BYTES);
      readSync(descriptor, bytes, 0, META_BYTES, offset);
      return bytes;
    };
    const first = read(0);
    const pageBytes = first.readUInt32LE(PAGE_SIZE_OFFSET);
    const pages = [first, read(pageBytes), read(pageBytes / 2)];
    const [a, b, flushed] = pages.map(metaOf) as [Meta, Meta, Meta];
    const trusted = olderUnlessFlushed(olderUnlessFlushed(a, b), flushed);
    const bytes = pages[[a, b, flushed].indexOf(trusted)] as Buffer;
    if (trusted.transaction === 0n) return undefined;
    return {
      pageBytes,
      transaction: trusted.transaction,
      root: trusted.mainRoot,
      depth: bytes.readUInt16LE(MAIN_DEPTH_OFFSET),
      entries: bytes.readBigUInt64LE(MAIN_ENTRIES_OFFSET),
      lastPage: trusted.lastPage,
      free: {
        root: trusted.freeRoot,
        depth: bytes.readUInt16LE(FREE_DEPTH_OFFSET),
        entries: bytes.readBigUInt64LE(FREE_ENTRIES_OFFSET),
      },
    };
  } finally {
    closeSync(descriptor);
  }
}

function judge(read: (offset: number) => Buffer, size: number): HeadFinding {
  const first = read(0);
  if (!isMarked(first)) return unsound('its first page is none of LMDB');
  const pageBytes = first.readUInt32LE(PAGE_SIZE_OFFSET);
  const isPower = (pageBytes & (pageBytes - 1)) === 0;
  if (!isPower || pageBytes < PAGE_BYTES_MIN || pageBytes > PAGE_BYTES_MAX)
    return unsound(`it says that its pages have ${pageBytes} bytes`);
  const second = read(pageBytes);
  if (!isMarked(second)) return unsound('its second page is none of LMDB');
  const metas = [first, second].map(metaOf);
  const flushed = metaOf(read(pageBytes / 2));
  const [a, b] = metas as [Meta, Meta];
  const newest = a.transaction > b.transaction ? a.transaction : b.transaction;
  if (b.pageBytes !== pageBytes) return unsound('its two first pages contradict each other');
  const hasFlushed = flushed.transaction !== 0n;
  if (hasFlushed && (flushed.pageBytes !== pageBytes || flushed.transaction > newest))
    return unsound('what it says to be flushed contradicts its first pages');
  const trusted = olderUnlessFlushed(olderUnlessFlushed(a, b), flushed);
  const pages = BigInt(Math.floor(size / pageBytes));
  const { freeRoot, lastPage, mainRoot } = trusted;
  const isOutside = (page: bigint): boolean => page !== NO_PAGE && (page >= pages || page > lastPage);
  if (isOutside(mainRoot) || isOutside(freeRoot))
    return unsound(`it ends after ${size} bytes, before its roots`);
  const needed = (lastPage + 1n) * BigInt(pageBytes);
  if (needed > FILE_BYTES_MAX) return unsound(`it says that it has ${needed} bytes`);
  return { isSound: true, missingBytes: Math.max(0, Number(needed) - size) };
}

/** Selects a root as LMDB does (`mdb_pick_meta`, with `safeRestore`). */
function olderUnlessFlushed(a: Meta, b: Meta): Meta {
  if (b.transaction === 0n) return a;
  const [older, newer] = a.transaction >= b.transaction ? [b, a] : [a, b];
  return newer.isFlushed ? newer : older;
}

function isMarked(page: Buffer): boolean {
  return (
    page.readUInt16LE(PAGE_FLAGS_OFFSET) === META_PAGE &&
    page.readUInt32LE(MAGIC_OFFSET) === MAGIC &&
    page.readUInt16LE(VERSION_OFFSET) === VERSION
  );
}

function metaOf(page: Buffer): Meta {
  return {
    pageBytes: page.readUInt32LE(PAGE_SIZE_OFFSET),
    isFlushed: (page.readUInt16LE(FLAGS_OFFSET) & UNFLUSHED) === 0,
    freeRoot: page.readBigUInt64LE(FREE_ROOT_OFFSET),
    mainRoot: page.readBigUInt64LE(MAIN_ROOT_OFFSET),
    lastPage: page.readBigUInt64LE(LAST_PAGE_OFFSET),
    transaction: page.readBigUInt64LE(TRANSACTION_OFFSET),
  };
}

function unsound(reason: string): HeadFinding {
  return { isSound: false, reason };
}
