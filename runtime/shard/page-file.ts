import { closeSync, fstatSync, readSync } from 'node:fs';
import { openRegularSync } from '#runtime/base/files/regular-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { inspectHead, type StoredTree, trustedRoot } from './lmdb-head.ts';
import {
  assembled,
  decodeNumberKey,
  decodePieceKey,
  decodeStub,
  LargeValue,
  pieceKey,
  placeOf,
  STUB_BYTES,
  type StoredValue,
} from './large-value.ts';
import {
  decodeLarge,
  decodeMarkedPosition,
  FORMAT_KEY,
  IDENTITY_KEY,
  LARGE_KEY,
  LARGE_ROWS,
  MARK_KEY,
  PIECES,
  POSITION_KEY,
  SHARD_FORMAT,
  SYSTEM,
} from './lmdb-tables.ts';
import type { Range, Row, ShardPosition, TableReader } from './shard.ts';

/*
 * The layout of LMDB's pages as lmdb-js 3 writes them on 64 bits, little endian. Every page begins with its number
 * [0] 8, the transaction that wrote it [8] 8, flags [18] 2. A tree page continues with the bounds of the free space
 * [20] 2 and [22] 2, counted from the end of the header, and the offsets of its nodes. A node has the low and high half
 * of a size [0] 2 [2] 2, flags [4] 2 and the length of its key [6] 2; in a branch the first three are the number of a
 * page.
 */
const HEADER_BYTES = 24;
const NODE_BYTES = 8;
const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;
/** Flags of the page kind. */
const PAGE_KIND = 0x0f;
const BIG_DATA = 0x01;
const SUB_DATA = 0x02;
const TREE_BYTES = 48;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;

/** Maximum number of cached pages. */
const PAGES_KEPT = 2_048;

/** Depth that no valid tree reaches. */
const DEPTH_MAX = 32;

/** Name used for the tree of free pages, which has none. */
const FREE = 'free pages';

/** Pages at the beginning of a file that belong to no tree. */
const META_PAGES = 2;

/** Greater than all keys. */
const BEHIND_ALL = '\u00ff'.repeat(2_000);

/** Rows verified in one step. */
const ROWS_AT_ONCE = 256;

/** One level on the path to a row. */
interface Node {
  readonly key: string;
  readonly page: Buffer;
  /** Offset of the node in its page. */
  readonly at: number;
}

/** Called with the table and a description of the damage. */
export type OnPageDamage = (table: string, what: string) => void;

/**
 * Reads the file of a shard page by page without LMDB, which trusts its input and crashes the process on a damaged
 * page. The structure of every page is verified (LMDB has no checksums): its own number, its kind, the offsets and the
 * order of its keys, and that its keys are within the bounds of the parent branch. Damage is reported, and everything
 * below it is skipped; the rest is read. The file is never changed.
 */
export class PageFile implements TableReader {
  readonly position: ShardPosition;
  /** Names of the tables in the file. */
  readonly names: readonly string[];
  readonly #descriptor: number;
  readonly #size: number;
  readonly #pageBytes: number;
  readonly #transaction: bigint;
  readonly #onDamage: OnPageDamage;
  readonly #main: StoredTree;
  readonly #free: StoredTree;
  readonly #lastPage: number;
  readonly #trees = new Map<string, StoredTree>();
  readonly #tableNames: readonly string[];
  readonly #pages = new Map<bigint, Buffer>();
  /** The nodes of cached pages. */
  readonly #nodes = new WeakMap<Buffer, readonly Node[]>();
  readonly #told = new Set<string>();
  /** During a full verification: the pages found in use. */
  #used: Uint8Array | undefined;

  /**
   * @param path of a file that is not being written
   * @param tableNames the names of the tables, in the order of their numbers
   * @throws {ServiceError} `DATA_CORRUPTED` when no part of it can be read
   */
  constructor(path: string, tableNames: readonly string[], onDamage: OnPageDamage) {
    this.#tableNames = tableNames;
    this.#onDamage = onDamage;
    const head = inspectHead(path);
    const found = head.isSound ? trustedRoot(path) : undefined;
    if (!head.isSound || found === undefined) {
      const reason = head.isSound ? 'it has no root' : head.reason;
      throw new ServiceError('DATA_CORRUPTED', `${path} is not the file of a shard: ${reason}`);
    }
    this.#descriptor = openRegularSync(path);
    this.#size = fstatSync(this.#descriptor).size;
    this.#pageBytes = found.pageBytes;
    this.#transaction = found.transaction;
    if (head.missingBytes > 0) onDamage('', `the file lacks ${head.missingBytes} bytes at its end`);
    this.#lastPage = Number(found.lastPage);
    this.#free = found.free;
    this.#main = found;
    this.#readTrees(found);
    this.names = [...this.#trees.keys()];
    const position = this.#get(SYSTEM, POSITION_KEY);
    const isWhole = position === undefined || position.length === 18;
    if (!isWhole) onDamage(SYSTEM, 'the position in the log cannot be read');
    this.position = decodeMarkedPosition(isWhole ? position : undefined, this.#get(SYSTEM, MARK_KEY));
  }

  /** Format of the shard; undefined when it is unreadable. */
  get format(): number | undefined {
    return this.#get(SYSTEM, FORMAT_KEY)?.[0];
  }

  /** The stored identity of the shard; undefined when it has none. */
  get identity(): Uint8Array | undefined {
    return this.#get(SYSTEM, IDENTITY_KEY);
  }

  /** Unexpected keys in the main tree, besides the tables. */
  get unknownKeys(): readonly string[] {
    const known = new Set([FORMAT_KEY, IDENTITY_KEY, LARGE_KEY, MARK_KEY, POSITION_KEY]);
    const tree = this.#trees.get(SYSTEM);
    if (tree === undefined) return [];
    const rows = this.#walk(SYSTEM, tree, '', BEHIND_ALL, false);
    return [...rows].map(({ key }) => key).filter((key) => !known.has(key));
  }

  get(table: number, key: string): Uint8Array | undefined {
    const name = this.#tableNames[table];
    return name === undefined ? undefined : this.#whole(table, key, this.#get(name, key));
  }

  *range(table: number, { end, reverse = false, start }: Range): Generator<Row, undefined> {
    const name = this.#tableNames[table];
    const tree = name === undefined ? undefined : this.#trees.get(name);
    if (name === undefined || tree === undefined || start >= end) return;
    for (const { at, key, page } of this.#walk(name, tree, start, end, reverse)) {
      const value = this.#whole(table, key, this.#value(name, page, at));
      if (value !== undefined) yield { key, value };
    }
  }

  /**
   * Compares the pieces of large values with the rows that have them. What is wrong is reported.
   *
   * @returns yields between steps
   */
  *verifyPieces(): Generator<undefined, void> {
    const pieces = this.#trees.get(PIECES);
    const listed = this.#trees.get(LARGE_ROWS);
    // An earlier build made the file.
    if (pieces === undefined || listed === undefined) return;
    const wanted = new Map<number, number>();
    const places = new Map<number, string>();
    let met = 0;
    for (const [table, name] of this.#tableNames.entries()) {
      const tree = this.#trees.get(name);
      if (tree === undefined) continue;
      for (const { at, key, page } of this.#walk(name, tree, '', BEHIND_ALL, false)) {
        // LMDB may keep a short value on the page of its own that a longer one had.
        const isStub = page.readUInt32LE(at) === STUB_BYTES;
        const found = isStub ? this.#known(table, key, this.#value(name, page, at)) : undefined;
        if (found instanceof LargeValue) {
          if (wanted.has(found.number)) this.#tell(name, `two rows have the large value ${found.number}`);
          wanted.set(found.number, found.pieces);
          places.set(found.number, placeOf(table, key));
        }
        met += 1;
        if (met % ROWS_AT_ONCE === 0) yield;
      }
    }
    for (const { key } of this.#walk(PIECES, pieces, '', BEHIND_ALL, false)) {
      const piece = decodePieceKey(key);
      const most = piece === undefined ? undefined : wanted.get(piece.number);
      if (piece === undefined) this.#tell(PIECES, `a key is that of no piece: ${JSON.stringify(key)}`);
      else if (most === undefined) this.#tell(PIECES, `no row has the large value ${piece.number}`);
      else if (piece.index >= most)
        this.#tell(PIECES, `the large value ${piece.number} has only ${most} pieces`);
      met += 1;
      if (met % ROWS_AT_ONCE === 0) yield;
    }
    yield* this.#verifyLargeRows(listed, places);
  }

  /** @param places the places of the rows that have large values, by the numbers of the values */
  *#verifyLargeRows(listed: StoredTree, places: Map<number, string>): Generator<undefined, void> {
    const newest = decodeLarge(this.#get(SYSTEM, LARGE_KEY));
    for (const number of places.keys())
      if (number > newest) this.#tell(SYSTEM, `its newest large value is ${newest}, but it has ${number}`);
    if (places.size > 0 && (this.format ?? SHARD_FORMAT) < SHARD_FORMAT)
      this.#tell(SYSTEM, `it has large values in pieces and format ${this.format}`);
    let met = 0;
    for (const { at, key, page } of this.#walk(LARGE_ROWS, listed, '', BEHIND_ALL, false)) {
      const number = decodeNumberKey(key);
      const value = this.#value(LARGE_ROWS, page, at);
      const place = value === undefined ? undefined : Buffer.from(value).latin1Slice();
      if (number === undefined || place === undefined || places.get(number) !== place)
        this.#tell(LARGE_ROWS, `the large value ${number} is not in the row that is listed`);
      else places.delete(number);
      met += 1;
      if (met % ROWS_AT_ONCE === 0) yield;
    }
    for (const number of places.keys())
      this.#tell(LARGE_ROWS, `the row of the large value ${number} is not listed`);
  }

  /** Every row of a table, in order. */
  rows(table: number): Iterable<Row> {
    return this.range(table, { start: '', end: BEHIND_ALL });
  }

  /** Row count stored for the table. */
  entriesOf(table: number): number {
    return Number(this.#trees.get(this.#tableNames[table] ?? '')?.entries ?? 0n);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /**
   * Reads every page in use: of all tables, and of the list of free pages, which LMDB trusts when it writes. No page
   * may be used twice. Damage is reported.
   *
   * @returns yields between steps
   */
  *verify(): Generator<undefined, void> {
    this.#used = new Uint8Array(this.#lastPage + 1);
    const trees = new Map([['', this.#main], ...this.#trees]);
    for (const [name, tree] of trees) {
      let rows = 0n;
      for (const { at, page } of this.#walk(name, tree, '', BEHIND_ALL, false)) {
        if (name !== '') this.#value(name, page, at);
        rows += 1n;
        if (rows % BigInt(ROWS_AT_ONCE) === 0n) yield;
      }
      if (rows !== tree.entries)
        this.#tell(name, `it says that it has ${tree.entries} rows, ${rows} can be read`);
    }
    for (const { at, page } of this.#walk(FREE, this.#free, '', BEHIND_ALL, false)) {
      this.#verifyFree(this.#value(FREE, page, at));
      yield;
    }
    this.#used = undefined;
  }

  /**
   * A count, then as many numbers: a page; or, below 0, the length of a run starting at the next number; or 0, unused.
   */
  #verifyFree(value: Uint8Array | undefined): void {
    if (value === undefined) return;
    const list = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    const count = list.length < 8 ? -1n : list.readBigInt64LE(0);
    if (count < 0n || (count + 1n) * 8n > BigInt(list.length))
      return void this.#tell(FREE, 'a list has no sound length');
    for (let index = 1; index <= Number(count); index += 1) {
      let first = list.readBigInt64LE(index * 8);
      if (first === 0n) continue;
      let pages = 1n;
      if (first < 0n) {
        pages = -first;
        index += 1;
        first = index <= Number(count) ? list.readBigInt64LE(index * 8) : 0n;
      }
      this.#use(FREE, first, pages);
    }
  }

  /** Marks pages as used during a full verification. */
  #use(name: string, first: bigint, pages: bigint): void {
    const used = this.#used;
    if (used === undefined) return;
    if (first < META_PAGES || pages < 1n || first + pages > BigInt(used.length))
      return void this.#tell(name, `pages ${first} to ${first + pages - 1n} are none that can be used`);
    const from = Number(first);
    const to = from + Number(pages);
    const again = used.subarray(from, to).indexOf(1);
    if (again >= 0) this.#tell(name, `page ${from + again} has two uses`);
    used.fill(1, from, to);
  }

  /** The main tree has a row for each table. */
  #readTrees(main: StoredTree): void {
    const found = new Map<string, StoredTree>();
    for (const { at, key, page } of this.#walk('', main, '', BEHIND_ALL, false)) {
      const flags = page.readUInt16LE(at + 4);
      const dataAt = at + NODE_BYTES + page.readUInt16LE(at + 6);
      if ((flags & SUB_DATA) === 0 || dataAt + TREE_BYTES > page.length) {
        this.#tell('', `the entry of table '${key}' is damaged`);
        continue;
      }
      const name = key.endsWith('\u0000') ? key.slice(0, -1) : key;
      found.set(name, {
        depth: page.readUInt16LE(dataAt + 6),
        entries: page.readBigUInt64LE(dataAt + 32),
        root: page.readBigUInt64LE(dataAt + 40),
      });
    }
    for (const [name, tree] of found) this.#trees.set(name, tree);
  }

  #get(name: string, key: string): Uint8Array | undefined {
    const tree = this.#trees.get(name);
    if (tree === undefined || key === '') return undefined;
    for (const found of this.#walk(name, tree, key, `${key}\u0000`, false))
      return this.#value(name, found.page, found.at);
    return undefined;
  }

  *#walk(
    name: string,
    tree: StoredTree,
    start: string,
    end: string,
    reverse: boolean,
  ): Generator<Node, undefined> {
    if (tree.root === NO_PAGE) return;
    if (tree.depth > DEPTH_MAX) return this.#tell(name, `its tree has ${tree.depth} levels`);
    yield* this.#walkPage(name, tree.root, tree.depth, { from: '', to: undefined }, { start, end, reverse });
  }

  /** @param bounds key bounds of the page from its parent branch */
  *#walkPage(
    name: string,
    number: bigint,
    levels: number,
    bounds: { readonly from: string; readonly to: string | undefined },
    stretch: { readonly start: string; readonly end: string; readonly reverse: boolean },
  ): Generator<Node, undefined> {
    const page = this.#treePage(name, number, levels <= 1 ? LEAF : BRANCH);
    if (page === undefined) return;
    this.#use(name, number, 1n);
    let nodes = this.#nodes.get(page);
    if (nodes === undefined) {
      nodes = this.#nodesOf(name, number, page, levels > 1);
      if (nodes === undefined) return;
      this.#checkBounds(name, number, nodes, bounds, levels > 1);
      this.#nodes.set(page, nodes);
    }
    const { end, reverse, start } = stretch;
    const order = reverse
      ? nodes.map((_, index) => nodes.length - 1 - index)
      : nodes.map((_, index) => index);
    for (const index of order) {
      const node = nodes[index] as Node;
      if (levels <= 1) {
        if (node.key >= start && node.key < end) yield node;
        continue;
      }
      // The first key of a branch covers everything before the second.
      const from = index === 0 ? bounds.from : node.key;
      const to = nodes[index + 1]?.key ?? bounds.to;
      if (from >= end || (to !== undefined && to <= start)) continue;
      const child = BigInt(page.readUInt32LE(node.at)) | (BigInt(page.readUInt16LE(node.at + 4)) << 32n);
      yield* this.#walkPage(name, child, levels - 1, { from, to }, stretch);
    }
  }

  #treePage(name: string, number: bigint, kind: number): Buffer | undefined {
    const page = this.#page(number);
    if (page === undefined) return this.#tell(name, `page ${number} lies outside of the file`);
    if (page.readBigUInt64LE(0) !== number || (page.readUInt16LE(18) & PAGE_KIND) !== kind)
      return this.#tell(name, `page ${number} is not the page of a tree that should be there`);
    if (page.readBigUInt64LE(8) > this.#transaction)
      return this.#tell(name, `page ${number} is of a later transaction`);
    return page;
  }

  /** The nodes of a page; undefined when their offsets are invalid. */
  #nodesOf(name: string, number: bigint, page: Buffer, isBranch: boolean): readonly Node[] | undefined {
    const room = page.length - HEADER_BYTES;
    const lower = page.readUInt16LE(20);
    const upper = page.readUInt16LE(22);
    if (lower > upper || upper > room || lower % 2 !== 0 || lower === 0)
      return this.#tell(name, `page ${number} has no sound list of its nodes`);
    const nodes: Node[] = [];
    for (let place = 0; place < lower; place += 2) {
      const at = HEADER_BYTES + page.readUInt16LE(HEADER_BYTES + place);
      const keyEnd = at + NODE_BYTES + (at + NODE_BYTES <= page.length ? page.readUInt16LE(at + 6) : 0);
      if (at < HEADER_BYTES + upper || keyEnd > page.length) {
        this.#tell(name, `page ${number} has a node outside of it`);
        continue;
      }
      const key = isBranch && place === 0 ? '' : page.latin1Slice(at + NODE_BYTES, keyEnd);
      // Transaction numbers are little endian, so the last byte is the most significant.
      nodes.push({ key: name === FREE ? [...key].reverse().join('') : key, page, at });
    }
    return nodes;
  }

  #checkBounds(
    name: string,
    number: bigint,
    nodes: readonly Node[],
    { from, to }: { readonly from: string; readonly to: string | undefined },
    isBranch: boolean,
  ): void {
    let before: string | undefined;
    for (const [index, { key }] of nodes.entries()) {
      const isFirstOfBranch = isBranch && index === 0;
      const isOutside = !isFirstOfBranch && (key < from || (to !== undefined && key >= to));
      if (isOutside || (before !== undefined && key <= before))
        this.#tell(name, `page ${number} has a key that is not in its place`);
      before = key;
    }
  }

  #value(name: string, page: Buffer, at: number): Uint8Array | undefined {
    const flags = page.readUInt16LE(at + 4);
    const size = page.readUInt32LE(at);
    const dataAt = at + NODE_BYTES + page.readUInt16LE(at + 6);
    if (flags === 0) {
      if (dataAt + size <= page.length) return page.subarray(dataAt, dataAt + size);
      return this.#tell(name, `page ${page.readBigUInt64LE(0)} has a value that is longer than it`);
    }
    if (flags !== BIG_DATA || dataAt + 24 > page.length)
      return this.#tell(name, `page ${page.readBigUInt64LE(0)} has a node of an unknown kind`);
    const first = page.readBigUInt64LE(dataAt);
    const start = Number(first) * this.#pageBytes;
    const head = this.#page(first);
    const isSound =
      head !== undefined &&
      head.readBigUInt64LE(0) === first &&
      (head.readUInt16LE(18) & PAGE_KIND) === OVERFLOW &&
      start + HEADER_BYTES + size <= this.#size;
    if (!isSound) return this.#tell(name, `page ${first} does not hold the large value that should be there`);
    // LMDB frees as many pages as the first one states. It may state more than needed, after a longer earlier value.
    const pages = head.readUInt32LE(20);
    if (this.#used !== undefined && pages < Math.ceil((HEADER_BYTES + size) / this.#pageBytes))
      this.#tell(name, `page ${first} says that its value has ${pages} pages`);
    this.#use(name, first, BigInt(pages));
    const value = Buffer.allocUnsafeSlow(size);
    readSync(this.#descriptor, value, 0, size, start + HEADER_BYTES);
    return value;
  }

  /** A value as it was read, or the large one whose row this is. @returns undefined when the row is damaged */
  #known(table: number, key: string, value: Uint8Array | undefined): StoredValue | undefined {
    try {
      return value === undefined ? undefined : (decodeStub(value, table, key) ?? value);
    } catch (error) {
      return this.#tell(this.#tableNames[table] ?? '', (error as Error).message);
    }
  }

  /** Reads a large value. @returns undefined when that is damaged */
  #whole(table: number, key: string, value: Uint8Array | undefined): Uint8Array | undefined {
    const found = this.#known(table, key, value);
    if (!(found instanceof LargeValue)) return found;
    const tree = this.#trees.get(PIECES);
    const start = pieceKey(found.number, 0);
    const end = pieceKey(found.number + 1, 0);
    // Looked up in order, with one walk.
    const pieces = tree === undefined ? undefined : this.#walk(PIECES, tree, start, end, false);
    try {
      return assembled(found, (piece) => {
        const next = pieces?.next();
        if (next === undefined || next.done === true || next.value.key !== piece) return undefined;
        return this.#value(PIECES, next.value.page, next.value.at);
      });
    } catch (error) {
      return this.#tell(this.#tableNames[table] ?? '', (error as Error).message);
    }
  }

  #page(number: bigint): Buffer | undefined {
    const known = this.#pages.get(number);
    if (known !== undefined) return known;
    const offset = number * BigInt(this.#pageBytes);
    if (offset + BigInt(this.#pageBytes) > BigInt(this.#size)) return undefined;
    const page = Buffer.allocUnsafeSlow(this.#pageBytes);
    readSync(this.#descriptor, page, 0, this.#pageBytes, Number(offset));
    if (this.#pages.size >= PAGES_KEPT) this.#pages.delete(this.#pages.keys().next().value as bigint);
    this.#pages.set(number, page);
    return page;
  }

  /** Reports each damage once. @returns undefined */
  #tell(name: string, what: string): undefined {
    const text = `${name}\u0000${what}`;
    if (this.#told.has(text)) return undefined;
    this.#told.add(text);
    this.#onDamage(name, what);
    return undefined;
  }
}
