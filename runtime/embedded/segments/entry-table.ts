import { crc32 } from 'node:zlib';
import { ACTOR_MARK_BYTES, actorMark } from '#runtime/log/actor-mark.ts';

/*
 * The table after the entries of a record, from format 2 on. Little endian; offsets in brackets.
 *
 *   for each entry   mark of the actor [0] 8   length [8] 4   CRC32 of the entry [12] 4
 *   then             entries [0] 4   sequence of the record [4] 8   salted CRC32 of all before it [12] 4
 *
 * It is part of the payload, with a checksum of its own that is salted with the segment and with the table's end
 * offset; the checksum of the entries is in the header. So one flipped bit affects at most one of them. For a damaged
 * record the table shows which entries are intact and which actors' entries are not. Read from the end of the record,
 * it also locates the entries when the header is lost.
 */

const ROW_BYTES = ACTOR_MARK_BYTES + 8;
const END_BYTES = 16;

/** Size of a table in bytes. */
export function entryTableBytes(entries: number): number {
  return entries * ROW_BYTES + END_BYTES;
}

/** The table row of one entry. */
export interface EntryRow {
  /** Mark of its actor, in hex. */
  readonly mark: string;
  readonly bytes: number;
  readonly crc: number;
}

/** The location of a table, used as the salt of its checksum. */
export interface TablePlace {
  /** Salt of the segment. */
  readonly salt: number;
  /** Offset after the table in its segment, in bytes. */
  readonly end: number;
}

/** The table of a record that is being filled. */
export class EntryTableWriter {
  #actors: string[] = [];
  #lengths: number[] = [];
  #crcs: number[] = [];

  get entries(): number {
    return this.#actors.length;
  }

  add(actor: string, bytes: number): void {
    this.#actors.push(actor);
    this.#lengths.push(bytes);
  }

  /** Length of an entry, in bytes. */
  lengthOf(entry: number): number {
    return this.#lengths[entry] as number;
  }

  /** Adds the checksum of the next entry. */
  addCrc(crc: number): void {
    this.#crcs.push(crc);
  }

  /** Writes the table. @returns the offset after it */
  write(target: Buffer, offset: number, sequence: number, place: TablePlace): number {
    let at = offset;
    for (const [index, actor] of this.#actors.entries()) {
      actorMark(actor).copy(target, at);
      target.writeUInt32LE(this.#lengths[index] as number, at + ACTOR_MARK_BYTES);
      target.writeUInt32LE(this.#crcs[index] as number, at + ACTOR_MARK_BYTES + 4);
      at += ROW_BYTES;
    }
    target.writeUInt32LE(this.entries, at);
    writeSequence(target, sequence, at + 4);
    target.writeUInt32LE(tableCrc(target.subarray(offset, at + 12), place), at + 12);
    return at + END_BYTES;
  }

  clear(): void {
    this.#actors = [];
    this.#lengths = [];
    this.#crcs = [];
  }
}

/** A table that was found. */
export interface FoundTable {
  readonly sequence: number;
  readonly rows: readonly EntryRow[];
  /** Length of the table, in bytes. */
  readonly bytes: number;
}

/** Whether the table of a record ends at an offset and verifies there. */
export function hasEntryTable(source: Buffer, end: number, sequence: number, place: TablePlace): boolean {
  const start = startOf(source, end, place);
  return start !== undefined && readSequence(source, end - END_BYTES + 4) === sequence;
}

/**
 * Reads the table that ends at an offset.
 *
 * @param place.end the same offset, relative to the segment
 * @returns undefined when there is none with a valid checksum at this place
 */
export function readEntryTable(source: Buffer, end: number, place: TablePlace): FoundTable | undefined {
  const start = startOf(source, end, place);
  if (start === undefined) return undefined;
  const rows: EntryRow[] = [];
  for (let at = start; at < end - END_BYTES; at += ROW_BYTES) {
    rows.push({
      mark: source.toString('hex', at, at + ACTOR_MARK_BYTES),
      bytes: source.readUInt32LE(at + ACTOR_MARK_BYTES),
      crc: source.readUInt32LE(at + ACTOR_MARK_BYTES + 4),
    });
  }
  return { sequence: readSequence(source, end - END_BYTES + 4), rows, bytes: end - start };
}

/** @returns the start of a table that verifies */
function startOf(source: Buffer, end: number, place: TablePlace): number | undefined {
  if (end < END_BYTES) return undefined;
  const entries = source.readUInt32LE(end - END_BYTES);
  const bytes = entryTableBytes(entries);
  if (entries === 0 || bytes > end) return undefined;
  const start = end - bytes;
  return tableCrc(source.subarray(start, end - 4), place) === source.readUInt32LE(end - 4)
    ? start
    : undefined;
}

function tableCrc(bytes: Buffer, { end, salt }: TablePlace): number {
  const place = Buffer.allocUnsafe(12);
  place.writeUInt32LE(salt, 0);
  writeSequence(place, end, 4);
  return crc32(bytes, crc32(place));
}

/** Writes 64 bits, of which a number holds 53. */
function writeSequence(target: Buffer, value: number, offset: number): void {
  target.writeUInt32LE(value % 0x100000000, offset);
  target.writeUInt32LE(Math.floor(value / 0x100000000), offset + 4);
}

function readSequence(source: Buffer, offset: number): number {
  return source.readUInt32LE(offset + 4) * 0x100000000 + source.readUInt32LE(offset);
}
