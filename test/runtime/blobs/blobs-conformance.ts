import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BlobInfo, BlobRange, Blobs } from '#runtime/blobs/ports.ts';

/** What the suite runs against. */
export interface BlobsUnderTest {
  readonly blobs: Blobs;
  /** The same store as another member, or as itself after a restart, sees it. */
  readonly elsewhere: Blobs;
  /** Changes stored bytes behind the back of the store: one of them, or the last ones go missing. */
  damage(hash: string, how: 'flip' | 'truncate'): Promise<void>;
  close(): Promise<void>;
}

const MANY = 100_000_000;

/** The name bytes have to get. */
export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Bytes that are not all alike, the same for the same seed. */
export function bytesOf(size: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(size);
  let state = seed * 2_654_435_761 + 1;
  for (let index = 0; index < size; index += 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    bytes[index] = state >>> 16;
  }
  return bytes;
}

/** Everything a read gives. */
export async function readAll(content: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array, void> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size);
}

/** What every implementation of `Blobs` promises. */
export function blobsConformance(name: string, open: () => Promise<BlobsUnderTest>): void {
  describe(`blobs: ${name}`, () => {
    let store: BlobsUnderTest;
    let blobs: Blobs;

    beforeAll(async () => {
      store = await open();
      blobs = store.blobs;
    });

    afterAll(() => store.close());

    const listed = async (): Promise<string[]> => {
      const hashes: string[] = [];
      for await (const { hash } of blobs.list()) hashes.push(hash);
      return hashes;
    };
    const read = async (hash: string, range?: BlobRange) => readAll(await blobs.get(hash, range));

    it('returns what was stored, in any size and pieces', async () => {
      for (const [size, piece] of [
        [0, 1],
        [1, 1],
        [262_144, 262_144],
        [262_145, 1_000],
        [9_000_001, 1_048_577],
      ] as const) {
        const bytes = bytesOf(size);
        const info = await blobs.put(inPieces(bytes, piece), { bytesMax: MANY });
        expect(info).toMatchObject({ hash: hashOf(bytes), size });
        expect(hashOf(await read(info.hash))).toBe(info.hash);
        expect(await store.elsewhere.info(info.hash)).toMatchObject({ hash: info.hash, size });
        expect(hashOf(await readAll(await store.elsewhere.get(info.hash)))).toBe(info.hash);
      }
    });

    it('gives any range of it', async () => {
      const bytes = bytesOf(5_500_000, 2);
      const { hash } = await blobs.put([bytes], { bytesMax: MANY });
      const place = fc.nat({ max: bytes.length });
      await fc.assert(
        fc.asyncProperty(place, place, async (one, other) => {
          const [start, end] = [Math.min(one, other), Math.max(one, other)];
          expect((await read(hash, { start, end })).equals(bytes.subarray(start, end))).toBe(true);
        }),
        {
          numRuns: 15,
          examples: [
            [0, 0],
            [0, bytes.length],
            [bytes.length, bytes.length],
            [4_194_304, 4_194_305],
          ],
        },
      );
      for (const [start, end] of [
        [-1, 2],
        [2, 1],
        [0, bytes.length + 1],
        [0.5, 1],
      ] as const)
        await expect(blobs.get(hash, { start, end })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    });

    it('keeps the same bytes once, however often and by whomever they are stored', async () => {
      const bytes = bytesOf(600_000, 3);
      const puts = [blobs, store.elsewhere, blobs].map((each) => each.put([bytes], { bytesMax: MANY }));
      const infos = await Promise.all(puts);
      infos.push(await blobs.put([bytes], { bytesMax: MANY }));
      expect(new Set(infos.map(({ hash }) => hash)).size).toBe(1);
      const [{ hash }] = infos as [BlobInfo];
      expect((await listed()).filter((each) => each === hash)).toHaveLength(1);
      expect((await read(hash)).equals(bytes)).toBe(true);
    });

    it('reports when bytes were last stored', async () => {
      const bytes = bytesOf(10, 4);
      const { hash, storedAtMs } = await blobs.put([bytes], { bytesMax: MANY });
      const first = (await blobs.info(hash))?.storedAtMs as number;
      expect(Math.abs(first - storedAtMs)).toBeLessThan(10_000);
      // As often as the clock of the store needs to show that time has passed.
      for (let again = first; again === first; ) {
        await blobs.put([bytes], { bytesMax: MANY });
        again = (await blobs.info(hash))?.storedAtMs as number;
        expect(again).toBeGreaterThanOrEqual(first);
      }
    });

    it('refuses more bytes than are allowed as soon as it sees them, and keeps nothing', async () => {
      const before = await listed();
      let given = 0;
      const endless = async function* (): AsyncGenerator<Uint8Array, void> {
        for (; ; given += 1) yield bytesOf(100_000, given + 50);
      };
      await expect(blobs.put(endless(), { bytesMax: 1_000_000 })).rejects.toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
      });
      expect(given).toBe(10);
      expect(await listed()).toEqual(before);
      const exactly = bytesOf(1_000, 5);
      expect((await blobs.put([exactly], { bytesMax: 1_000 })).size).toBe(1_000);
    });

    it('checks the hash that was promised', async () => {
      const bytes = bytesOf(1_000, 6);
      const hash = hashOf(bytes);
      const other = hashOf(bytesOf(1, 7));
      const put = blobs.put([bytes], { bytesMax: MANY, hash: other });
      await expect(put).rejects.toMatchObject({ code: 'VALIDATION_FAILED', field: 'hash' });
      expect([await blobs.info(hash), await blobs.info(other)]).toEqual([undefined, undefined]);
      expect((await blobs.put([bytes], { bytesMax: MANY, hash })).hash).toBe(hash);
      for (const bad of ['', '../../etc/passwd', hash.toUpperCase(), `${hash}0`])
        await expect(blobs.info(bad)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    });

    it('keeps nothing of an interrupted or cancelled write', async () => {
      const before = await listed();
      const broken = async function* (): AsyncGenerator<Uint8Array, void> {
        yield bytesOf(5_000_000, 8);
        throw new Error('the line went dead');
      };
      await expect(blobs.put(broken(), { bytesMax: MANY })).rejects.toThrow('the line went dead');
      const abort = new AbortController();
      const leaving = async function* (): AsyncGenerator<Uint8Array, void> {
        yield bytesOf(5_000_000, 9);
        abort.abort();
        yield bytesOf(1, 9);
      };
      const put = blobs.put(leaving(), { bytesMax: MANY, signal: abort.signal });
      await expect(put).rejects.toMatchObject({ code: 'REQUEST_CANCELLED' });
      expect(await listed()).toEqual(before);
    });

    it('removes bytes once, and knows them no more', async () => {
      const bytes = bytesOf(5_000_000, 10);
      const { hash } = await blobs.put([bytes], { bytesMax: MANY });
      expect(await listed()).toContain(hash);
      expect(await blobs.delete(hash)).toBe(true);
      expect(await blobs.delete(hash)).toBe(false);
      expect(await listed()).not.toContain(hash);
      expect(await blobs.info(hash)).toBeUndefined();
      expect(await store.elsewhere.info(hash)).toBeUndefined();
      await expect(blobs.get(hash)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    });

    it.each(['flip', 'truncate'] as const)('never gives the whole of damaged bytes (%s)', async (how) => {
      const bytes = bytesOf(700_000, how === 'flip' ? 11 : 12);
      const { hash } = await blobs.put([bytes], { bytesMax: MANY });
      await store.damage(hash, how);
      const pieces: Uint8Array[] = [];
      const reading = async (): Promise<void> => {
        for await (const piece of await blobs.get(hash)) pieces.push(piece);
      };
      await expect(reading()).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
      expect(Buffer.concat(pieces).length).toBeLessThan(bytes.length);
      await blobs.put([bytes], { bytesMax: MANY });
      expect((await read(hash)).equals(bytes)).toBe(true);
    });

    it('lets a reader stop anywhere', async () => {
      const { hash } = await blobs.put([bytesOf(9_000_000, 13)], { bytesMax: MANY });
      for await (const piece of await blobs.get(hash)) {
        expect(piece.length).toBeGreaterThan(0);
        break;
      }
      expect((await read(hash)).length).toBe(9_000_000);
    });
  });
}
