import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { codingFor, Compressor, isCompressible } from '#protocols/http/replies/compression.ts';
import { JsonPieces } from '#runtime/content/values/json-pieces.ts';
import { ask, route, start } from '../http-fixture.ts';

const long = JSON.stringify({ text: 'all work and no play '.repeat(1_000) });

describe('codingFor', () => {
  it.each([
    [undefined, undefined],
    ['', undefined],
    ['identity', undefined],
    ['gzip', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['gzip;q=0', undefined],
    ['GZIP ; q=1.0', 'gzip'],
    ['*', 'br'],
    ['*;q=0.1, br;q=0', 'gzip'],
    ['x-gzip, brotli', undefined],
  ])('for %j chooses %s', (header, coding) => {
    expect(codingFor(header)).toBe(coding);
  });
});

describe('isCompressible', () => {
  it('is true of text, not of pictures and event streams', () => {
    for (const yes of [
      'application/json',
      'text/html; charset=utf-8',
      'image/svg+xml',
      'application/ld+json',
    ]) {
      expect(isCompressible(yes)).toBe(true);
    }
    for (const no of ['image/png', 'application/octet-stream', 'text/event-stream', 'video/mp4']) {
      expect(isCompressible(no)).toBe(false);
    }
  });
});

describe('Compressor', () => {
  it('refuses more bodies at once than its bound, and takes them again later', async () => {
    const compressor = new Compressor(1);
    const first = compressor.compress(long, 'gzip');
    expect(compressor.compress(long, 'br')).toBeUndefined();
    expect(gunzipSync((await first) as Buffer).toString()).toBe(long);
    expect(brotliDecompressSync((await compressor.compress(long, 'br')) as Buffer).toString()).toBe(long);
  });
});

describe('compressed answers', () => {
  const table = [
    route('GET', '/long', () => ({
      status: 200,
      raw: long,
      headers: { ETag: '"7"', Vary: 'Accept-Language' },
    })),
    route('GET', '/later', async () => ({ status: 200, json: JSON.parse(long) })),
    route('GET', '/short', () => ({ status: 200, raw: '"short"' })),
    route('GET', '/image', () => ({ status: 200, raw: long, contentType: 'image/png' })),
    route('GET', '/coded', () => ({ status: 200, raw: long, headers: { 'Content-Encoding': 'x-own' } })),
    route('GET', '/fixed', () => ({ status: 200, raw: long, headers: { 'Cache-Control': 'no-transform' } })),
    route('GET', '/part', () => ({ status: 206, raw: long, headers: { 'Content-Range': 'bytes 0-1/2' } })),
    route('GET', '/pieces', () => ({ status: 200, json: new JsonPieces(['[1,', '"ü"', ']']) })),
    route('GET', '/huge', () => ({ status: 200, json: Array.from({ length: 200_000 }, (_, i) => i * 7919) })),
  ];

  it('compresses long text for clients that accept it, with a strong tag of its own [HTTP-023, ETAG-006]', async () => {
    const { port } = await start(table);
    const br = await ask(port, '/long', { headers: { 'Accept-Encoding': 'gzip, br' } });
    expect(br.headers).toMatchObject({
      'content-encoding': 'br',
      vary: 'Accept-Language, Accept-Encoding',
      etag: '"7.br"',
      'content-length': String(br.bytes.length),
    });
    expect(brotliDecompressSync(br.bytes).toString()).toBe(long);
    const gzip = await ask(port, '/later', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(gzip.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(gzip.bytes).toString()).toBe(long);
  });

  it('leaves the answer and its strong tag unchanged for other clients, and sends Vary', async () => {
    const { port } = await start(table);
    const plain = await ask(port, '/long');
    expect(plain.text).toBe(long);
    expect(plain.headers.etag).toBe('"7"');
    expect(plain.headers.vary).toBe('Accept-Language, Accept-Encoding');
    expect(plain.headers['content-encoding']).toBeUndefined();
  });

  it('leaves short answers and other content alone [HTTP-024]', async () => {
    const { port } = await start(table);
    for (const path of ['/short', '/image', '/fixed', '/part']) {
      const answer = await ask(port, path, { headers: { 'Accept-Encoding': 'gzip, br' } });
      expect([path, answer.headers['content-encoding'], answer.headers.vary]).toEqual([
        path,
        undefined,
        undefined,
      ]);
    }
    const coded = await ask(port, '/coded', { headers: { 'Accept-Encoding': 'gzip, br' } });
    expect(coded.headers['content-encoding']).toBe('x-own');
  });

  it('still sends a compressed answer whole that is longer than one write', async () => {
    const { port } = await start(table);
    const answer = await ask(port, '/huge', { headers: { 'Accept-Encoding': 'gzip' } });
    expect(answer.bytes.length).toBeGreaterThan(100_000);
    expect(JSON.parse(gunzipSync(answer.bytes).toString())).toHaveLength(200_000);
  });

  it('answers text in pieces as it is', async () => {
    const { port } = await start(table);
    const plain = await ask(port, '/pieces');
    expect([plain.text, plain.headers['content-length']]).toEqual(['[1,"ü"]', '8']);
    const head = await ask(port, '/pieces', { method: 'HEAD' });
    expect(head.headers['content-length']).toBe('8');
  });

  it('answers HEAD with the headers of GET, without a length it does not know', async () => {
    const { port } = await start(table);
    const head = await ask(port, '/long', { method: 'HEAD', headers: { 'Accept-Encoding': 'br' } });
    expect(head.headers).toMatchObject({ 'content-encoding': 'br', etag: '"7.br"' });
    expect(head.headers['content-length']).toBeUndefined();
    const plain = await ask(port, '/long', { method: 'HEAD' });
    expect(plain.headers['content-length']).toBe(String(Buffer.byteLength(long)));
  });
});
