import { describe, expect, it } from 'vitest';
import { InvariantError } from '#runtime/base/assert.ts';
import { SEALED_TEXT_BYTES_MAX, SecretBox } from '#runtime/config/secret-box.ts';

const key = (byte: number): Uint8Array => new Uint8Array(32).fill(byte).map((each, at) => each ^ at);
const box = new SecretBox(key(1));

/** The bytes after the prefix, changed by `edit`, as a sealed text. */
const changed = (sealed: string, edit: (bytes: Buffer) => Buffer): string => {
  const bytes = Buffer.from(sealed.slice(3), 'base64url');
  return `v1.${edit(bytes).toString('base64url')}`;
};

const flipped =
  (at: number) =>
  (bytes: Buffer): Buffer => {
    const index = at < 0 ? bytes.length + at : at;
    bytes[index] = (bytes[index] as number) ^ 1;
    return bytes;
  };

describe('a sealed text', () => {
  it.each(['', 'a', 'a secret of a client', 'ä€😀\u0000\n', 'x'.repeat(SEALED_TEXT_BYTES_MAX)])(
    'is opened as it was (case %#)',
    (text) => {
      expect(box.open('test', box.seal('test', text))).toBe(text);
    },
  );

  it('can stand in a URL and in a header', () => {
    expect(box.seal('test', 'ä '.repeat(99))).toMatch(/^v1\.[A-Za-z0-9_-]+$/);
  });

  it('says nothing of its text but the length', () => {
    const sealed = box.seal('test', 'secret secret secret');
    expect(Buffer.from(sealed.slice(3), 'base64url').toString('latin1')).not.toContain('secret');
    expect(sealed).toHaveLength(box.seal('test', 'x'.repeat(20)).length);
  });

  it('is another one each time', () => {
    const sealed = Array.from({ length: 200 }, () => box.seal('test', 'the same').slice(3, 20));
    expect(new Set(sealed).size).toBe(200);
  });

  it('is opened by another box with the same key, as by a member after a restart', () => {
    expect(new SecretBox(key(1)).open('test', box.seal('test', 'text'))).toBe('text');
  });

  it('is not changed when the caller clears its key', () => {
    const bytes = key(5);
    const own = new SecretBox(bytes);
    const sealed = own.seal('test', 'text');
    bytes.fill(0);
    expect(own.open('test', sealed)).toBe('text');
  });
});

describe('what is not exactly what was sealed is not opened', () => {
  const sealed = box.seal('test', 'a text of some length');

  it.each([
    ['the salt, first byte', 0],
    ['the salt, last byte', 15],
    ['the nonce, first byte', 16],
    ['the nonce, last byte', 27],
    ['the text, first byte', 28],
    ['the text, last byte', -17],
    ['the tag, first byte', -16],
    ['the tag, last byte', -1],
  ])('%s', (_part, at) => {
    expect(box.open('test', changed(sealed, flipped(at)))).toBeUndefined();
  });

  it.each([
    ['a byte fewer', (bytes: Buffer) => bytes.subarray(0, -1)],
    ['a byte more', (bytes: Buffer) => Buffer.concat([bytes, Buffer.alloc(1)])],
    ['a shorter tag', (bytes: Buffer) => bytes.subarray(0, -12)],
    ['less than the parts that are always there', (bytes: Buffer) => bytes.subarray(0, 43)],
    ['nothing', () => Buffer.alloc(0)],
  ])('%s', (_change, edit) => {
    expect(box.open('test', changed(sealed, edit))).toBeUndefined();
  });

  it('another spelling of the same bytes', () => {
    // 65 bytes: the last character has two unused bits.
    const spelled = box.seal('test', 'x'.repeat(21));
    const last = spelled.at(-1) as string;
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const other = alphabet[alphabet.indexOf(last) ^ 1] as string;
    const text = spelled.slice(0, -1) + other;
    expect(Buffer.from(text.slice(3), 'base64url')).toEqual(Buffer.from(spelled.slice(3), 'base64url'));
    expect(box.open('test', text)).toBeUndefined();
    const more = [`${spelled}=`, `${spelled}\n`, ` ${spelled}`, `${spelled}!`, spelled.replace('v1', 'V1')];
    for (const each of more) expect(box.open('test', each)).toBeUndefined();
    expect(box.open('test', spelled)).toBe('x'.repeat(21));
  });

  it.each(['', 'v1', 'v1.', `v2.${sealed.slice(3)}`, sealed.slice(3), 'plain text', 'v1.🎉'])(
    'another form: %s',
    (text) => {
      expect(box.open('test', text)).toBeUndefined();
    },
  );

  it('for another purpose', () => {
    for (const purpose of ['Test', 'test ', 'tes', 'test\n', '1\ntest'])
      expect(box.open(purpose, sealed)).toBeUndefined();
  });

  it('with another key', () => {
    expect(new SecretBox(key(2)).open('test', sealed)).toBeUndefined();
  });

  it('longer than anything that is sealed', () => {
    const longest = box.seal('test', 'x'.repeat(SEALED_TEXT_BYTES_MAX));
    expect(box.open('test', longest)).toHaveLength(SEALED_TEXT_BYTES_MAX);
    expect(box.open('test', `${longest}AAAA`)).toBeUndefined();
  });
});

describe('after the master key was changed', () => {
  const old = new SecretBox(key(1));
  const rotated = new SecretBox(key(2), { previous: key(1) });

  it('what was sealed with the previous key is opened', () => {
    expect(rotated.open('test', old.seal('test', 'text'))).toBe('text');
  });

  it('new texts are sealed with the present key only', () => {
    const sealed = rotated.seal('test', 'text');
    expect(old.open('test', sealed)).toBeUndefined();
    expect(new SecretBox(key(2)).open('test', sealed)).toBe('text');
  });

  it('what was sealed with neither is not opened', () => {
    expect(rotated.open('test', new SecretBox(key(3)).seal('test', 'text'))).toBeUndefined();
    expect(rotated.open('test', changed(old.seal('test', 'text'), flipped(-1)))).toBeUndefined();
    expect(rotated.open('other', old.seal('test', 'text'))).toBeUndefined();
  });
});

describe('sealing again after the master key was changed', () => {
  const old = new SecretBox(key(1));
  const rotated = new SecretBox(key(2), { previous: key(1) });

  it('gives the text of the previous key to the present one alone', () => {
    const again = rotated.resealed('test', old.seal('test', 'text')) ?? '';
    expect(new SecretBox(key(2)).open('test', again)).toBe('text');
    expect(old.open('test', again)).toBeUndefined();
  });

  it('leaves alone what the present key has sealed, and what neither has', () => {
    expect(rotated.resealed('test', rotated.seal('test', 'text'))).toBeUndefined();
    expect(rotated.resealed('test', new SecretBox(key(3)).seal('test', 'text'))).toBeUndefined();
    expect(rotated.resealed('other', old.seal('test', 'text'))).toBeUndefined();
    expect(rotated.resealed('test', 'no sealed text')).toBeUndefined();
    expect(old.resealed('test', old.seal('test', 'text'))).toBeUndefined();
  });
});

describe('a mistake in the code that uses it', () => {
  it.each([0, 16, 31, 33])('a key of %d bytes', (bytes) => {
    expect(() => new SecretBox(new Uint8Array(bytes))).toThrow(InvariantError);
    expect(() => new SecretBox(key(1), { previous: new Uint8Array(bytes) })).toThrow(InvariantError);
  });

  it('a text over the bound, and a purpose that is empty or too long', () => {
    expect(() => box.seal('test', 'x'.repeat(SEALED_TEXT_BYTES_MAX + 1))).toThrow(InvariantError);
    expect(() => box.seal('', 'x')).toThrow(InvariantError);
    expect(() => box.seal('ä'.repeat(257), 'x')).toThrow(InvariantError);
    expect(box.open('ä'.repeat(256), box.seal('ä'.repeat(256), 'x'))).toBe('x');
  });
});
