import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type NodeAddress, parseNodeAddress } from '#runtime/content/node-address.ts';

const nothing = { path: null, id: null, property: null, command: null, version: null };

describe('parseNodeAddress', () => {
  it.each<[string, Partial<NodeAddress>]>([
    ['', { form: 'node', path: '/' }],
    ['/', { form: 'listing', path: '/' }],
    ['/a', { form: 'node', path: '/a' }],
    ['a/b', { form: 'node', path: '/a/b' }],
    ['/a/b/', { form: 'listing', path: '/a/b' }],
    ['/a%20b/c', { form: 'node', path: '/a b/c' }],
    ['/a%20b/', { form: 'listing', path: '/a b' }],
    ['/a%40b', { form: 'node', path: '/a@b' }],
    ['/...', { form: 'node', path: '/...' }],
    ['/.hidden/..a', { form: 'node', path: '/.hidden/..a' }],
    ['/page@title', { form: 'property', path: '/page', property: ['title'] }],
    ['/page@a.b.c', { form: 'property', path: '/page', property: ['a', 'b', 'c'] }],
    ['/page@a%2Eb.c%2Fd', { form: 'property', path: '/page', property: ['a.b', 'c/d'] }],
    ['/a@b@c', { form: 'property', path: '/a@b', property: ['c'] }],
    ['/@title', { form: 'property', path: '/', property: ['title'] }],
    ['@title', { form: 'property', path: '/', property: ['title'] }],
    ['/a/@title', { form: 'property', path: '/a', property: ['title'] }],
    ['/$ref/0190-x', { form: 'node', id: '0190-x' }],
    ['/%24ref/a%2Fb', { form: 'node', id: 'a/b' }],
    ['/$ref/x/', { form: 'listing', id: 'x' }],
    ['/$ref/x@title', { form: 'property', id: 'x', property: ['title'] }],
    ['/$ref/x/svc:rename', { form: 'command', id: 'x', command: 'rename' }],
    ['/a/svc:version', { form: 'versions', path: '/a' }],
    ['/a/svc:version/12', { form: 'version', path: '/a', version: 12 }],
    ['/a/svc:cmd/rename', { form: 'command', path: '/a', command: 'rename' }],
    ['/a/svc%3Acmd/rename', { form: 'command', path: '/a', command: 'rename' }],
    ['/a/svc:copy_tree', { form: 'command', path: '/a', command: 'copy_tree' }],
    ['/a/svc%3Apublish/', { form: 'command', path: '/a', command: 'publish' }],
    ['/svc:cmd/commit', { form: 'command', path: '/', command: 'commit' }],
    ['svc:commit', { form: 'command', path: '/', command: 'commit' }],
    ['/a@file/svc:sign', { form: 'command', path: '/a', property: ['file'], command: 'sign' }],
  ])('reads %j', (tail, expected) => {
    expect(parseNodeAddress(tail)).toEqual({ ...nothing, ...expected });
  });

  it.each([
    '//',
    '/a//b',
    '/.',
    '/a/..',
    '/a/%2e%2E/b',
    '/%2F',
    '/a%2Fb',
    '/%00',
    '/a%1f',
    '/%',
    '/%zz',
    '/%ff',
    '/a%C3',
    '/a@',
    '/a@b..c',
    '/a@%',
    '/a@b/c',
    '/a@b/@c',
    '/$ref/..',
    '/a/svc:',
    '/a/svc:cmd',
    '/a/svc:version/x',
    '/a/svc:version/-1',
    '/a/svc:cmd/',
  ])('refuses %j with INVALID_PATH', (tail) => {
    expect(() => parseNodeAddress(tail)).toThrowError(expect.objectContaining({ code: 'INVALID_PATH' }));
  });

  it('refuses a path over 8192 bytes, encoded or not', () => {
    const tooLong = expect.objectContaining({ code: 'VALIDATION_FAILED' });
    expect(() => parseNodeAddress(`/${'a'.repeat(8192)}`)).toThrowError(tooLong);
    expect(() => parseNodeAddress(`/${'%C3%A9'.repeat(4096)}`)).toThrowError(tooLong);
    expect(parseNodeAddress(`/${'a/'.repeat(4000)}a`).form).toBe('node');
  });

  const name = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 10 })
    .filter((text) => text !== '.' && text !== '..' && !/[/\u0000-\u001f\u007f]/.test(text))
    .filter((text) => !text.startsWith('svc:') && text !== '$ref');
  const names = fc.array(name, { minLength: 1, maxLength: 5 });
  const key = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 });
  const encodeKey = (text: string) => encodeURIComponent(text).replaceAll('.', '%2E');
  const encodeNames = (list: readonly string[]) => `/${list.map(encodeURIComponent).join('/')}`;

  it('is the inverse of percent-encoding for paths, properties, ids and commands', () => {
    fc.assert(
      fc.property(names, fc.array(key, { minLength: 1, maxLength: 3 }), (segments, keys) => {
        const path = `/${segments.join('/')}`;
        const tail = encodeNames(segments);
        const at = `@${keys.map(encodeKey).join('.')}`;
        expect(parseNodeAddress(tail)).toEqual({ ...nothing, form: 'node', path });
        expect(parseNodeAddress(`${tail}/`)).toEqual({ ...nothing, form: 'listing', path });
        expect(parseNodeAddress(`${tail}${at}`)).toEqual({
          ...nothing,
          form: 'property',
          path,
          property: keys,
        });
        expect(parseNodeAddress(`${tail}/svc:cmd/move`)).toEqual({
          ...nothing,
          form: 'command',
          path,
          command: 'move',
        });
        expect(parseNodeAddress(`/$ref/${encodeURIComponent(segments[0]!)}${at}`)).toEqual({
          ...nothing,
          form: 'property',
          id: segments[0]!,
          property: keys,
        });
      }),
    );
  });

  it('answers an address or a coded error for any text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('/', '@', '%', '.', '2', 'F', 'a', ':', 'svc:', '$ref') }),
        (tail) => {
          let address: NodeAddress;
          try {
            address = parseNodeAddress(tail);
          } catch (error) {
            expect(error).toMatchObject({ code: 'INVALID_PATH' });
            return;
          }
          expect((address.path === null) !== (address.id === null)).toBe(true);
        },
      ),
    );
  });
});
