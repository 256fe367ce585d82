import { Buffer } from 'node:buffer';
import { request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { route, start } from './http-fixture.ts';

/** Long enough for slices; the characters take one byte, two and three. */
const text = `${'all work and no play '.repeat(100_000)}äöü€`;
const json = { first: text, second: text };

/** A little more than a slice of a text. */
const STEP_MAX = 100_000;

const table = [
  route('GET', '/value', () => ({ status: 200, json })),
  route('POST', '/value', () => ({ status: 200, json })),
  route('GET', '/text', () => ({ status: 200, raw: text, contentType: 'text/plain; charset=utf-8' })),
];

describe('large answers', () => {
  afterEach(() => vi.restoreAllMocks());

  /** @returns the longest text that is encoded, joined or copied in one step */
  function watch(): () => number {
    let longest = 0;
    const noted = (length: unknown): void => {
      if (typeof length === 'number') longest = Math.max(longest, length);
    };
    const { concat, from } = Buffer;
    vi.spyOn(Buffer, 'from').mockImplementation(((...args: Parameters<typeof from>) => {
      if (typeof args[0] === 'string') noted((args[0] as string).length);
      return from.apply(Buffer, args);
    }) as never);
    vi.spyOn(Buffer, 'concat').mockImplementation((list, length) => {
      const whole = concat.call(Buffer, list, length);
      noted(whole.length);
      return whole;
    });
    const { join } = Array.prototype;
    vi.spyOn(Array.prototype, 'join').mockImplementation(function (this: unknown[], separator?: string) {
      const whole = join.call(this, separator);
      noted(whole.length);
      return whole;
    });
    return () => longest;
  }

  async function ask(port: number, method: string, path: string, coding: string): Promise<Buffer> {
    const received = Promise.withResolvers<Buffer>();
    const sent = request({ port, method, path, headers: { 'accept-encoding': coding } }, (answer) => {
      const pieces = Buffer.alloc(Number(answer.headers['content-length']));
      let at = 0;
      answer.on('data', (piece: Buffer) => {
        at += piece.copy(pieces, at);
      });
      answer.on('end', () => received.resolve(pieces));
    });
    sent.on('error', received.reject);
    sent.end();
    return await received.promise;
  }

  it.each([
    ['GET', '/value', 'identity'],
    ['GET', '/value', 'gzip'],
    ['POST', '/value', 'gzip'],
    ['GET', '/text', 'identity'],
    ['GET', '/text', 'gzip'],
  ])('%s %s in %s is encoded and put together in slices', async (method, path, coding) => {
    const { port } = await start(table);
    const longest = watch();
    const bytes = await ask(port, method, path, coding);
    expect(longest()).toBeLessThan(STEP_MAX);
    vi.restoreAllMocks();
    const answer = (coding === 'gzip' ? gunzipSync(bytes) : bytes).toString();
    expect(answer === (path === '/text' ? text : JSON.stringify(json))).toBe(true);
  });
});
