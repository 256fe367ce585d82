import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import { STEP_BYTES } from '#runtime/tree/record/steps.ts';
import {
  makeNodeRecord,
  makeNodeRecordInSteps,
  withHeader,
  withHeaderInSteps,
} from '#runtime/tree/record/make-record.ts';
import { headerOf } from '#test/support/node-headers.ts';
import { stepped } from '#test/support/stepped.ts';
import { NodeRecord, recordInSteps } from '#runtime/tree/record/node-record.ts';

describe('a stored node', () => {
  it.each([
    ['its name and path', { name: 'träume', path: '/träume' }],
    ['the path of its parent', { name: 'one', path: '/träume/one' }],
    ['its author', { createdBy: 'Jürgen' }],
    ['its owner', { ownerId: 'größe' }],
    ['its parent id', { parentId: '日本' }],
    ['a translation', { translations: { de: { title: '日本 ü' } } as never }],
  ] satisfies [string, Partial<NodeHeader>][])(
    'is read as it was written with more than ASCII in %s',
    (_, fields) => {
      const header = headerOf(fields);
      const properties = { title: 'größe', ä: ['日本', 1], last: true };
      const read = new NodeRecord(makeNodeRecord(header, properties).bytes);
      expect(read.header).toEqual(header);
      expect(read.hasRelations).toBe(false);
      expect(read.revision).toBe(header.revision);
      expect(read.properties).toEqual(properties);
      for (const [name, value] of Object.entries(properties)) expect(read.property(name)).toEqual(value);
      expect(withHeader(read, header).bytes).toEqual(read.bytes);
    },
  );

  it('stores long texts as JSON.stringify writes them, with any content', () => {
    const odd = [
      '"',
      '\\',
      '\n',
      '\u0000',
      '\u001f',
      '\u007f',
      '\u2028',
      'ü',
      '€',
      '🌳',
      '\ud800',
      '\udfff',
      '',
    ];
    for (const each of odd) {
      const properties = { before: 1, text: `${'x'.repeat(5_000)}${each}${'y'.repeat(5_000)}`, after: each };
      const made = makeNodeRecord(headerOf({}), properties);
      expect(made.propertiesText).toBe(JSON.stringify(properties));
      const read = new NodeRecord(made.bytes);
      expect(read.properties).toEqual(properties);
      expect(read.property('after')).toBe(each);
    }
  });

  it('returns its revision without decoding the header, with any name of its parent', () => {
    const id = fc.oneof(
      fc.string({ minLength: 1, maxLength: 60, unit: 'binary' }),
      fc.string({ minLength: 1, unit: fc.constantFrom('"', ',', '\\', 'a') }),
      fc.string({ minLength: 100, maxLength: 400 }),
    );
    fc.assert(
      fc.property(id, fc.nat({ max: 2 ** 48 - 1 }), fc.nat(), (parentId, ms, counter) => {
        const revision = `${ms}-${counter}`;
        const record = makeNodeRecord(headerOf({ parentId, revision }), { title: 'x' });
        const stored = new NodeRecord(record.bytes);
        expect([record.revision, stored.revision]).toEqual([revision, revision]);
        expect(stored.header.parentId).toBe(parentId);
        expect(stored.revision).toBe(revision);
      }),
    );
  });

  it.each([100, STEP_BYTES, 3 * STEP_BYTES])(
    'of %d bytes or more is verified in steps as at once, wherever it is damaged',
    (length) => {
      const { bytes } = makeNodeRecord(headerOf({}), { text: 'x'.repeat(length) });
      let steps = 0;
      const inSteps = (stored: Uint8Array): NodeRecord => {
        const reading = recordInSteps(stored);
        for (steps = 0; ; steps += 1) {
          const step = reading.next();
          if (step.done === true) return step.value;
        }
      };
      expect(inSteps(Buffer.from(bytes)).properties).toEqual({ text: 'x'.repeat(length) });
      expect(steps).toBe(length < STEP_BYTES ? 0 : Math.ceil((bytes.length - 5) / STEP_BYTES));
      for (const at of [0, 3, 7, Math.floor(bytes.length / 2), bytes.length - 1]) {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] as number) ^ 0x10;
        const corrupted = expect.objectContaining({ code: 'DATA_CORRUPTED' });
        expect(() => inSteps(damaged)).toThrow(corrupted);
        expect(() => new NodeRecord(damaged)).toThrow(corrupted);
      }
    },
  );

  it('has the revision of its replaced header', () => {
    const record = makeNodeRecord(headerOf({}), { title: 'x' });
    const next = withHeader(record, headerOf({ revision: '1700000000001-7' }));
    expect(new NodeRecord(next.bytes).revision).toBe('1700000000001-7');
    expect(new NodeRecord(next.bytes).properties).toEqual({ title: 'x' });
  });

  describe('that is large', () => {
    const properties = {
      title: 'One',
      'svc:note': 'not "svc:ref\\"',
      text: 'Käse 🌳 "quoted"\n\\ '.repeat(40_000),
      list: Array.from({ length: 20_000 }, (_, index) => [index, `Tränen ${index}`]),
      big: 1n << 80n,
    };
    const derived = { workspace: 'w', hasChildren: false, typeText: () => '"$supertypes":[]' };

    it('is the same, made, given another header, decoded and rendered in steps or at once', () => {
      const whole = makeNodeRecord(headerOf({}), properties);
      const made = stepped(makeNodeRecordInSteps(headerOf({}), properties));
      expect(made.value.bytes.equals(whole.bytes)).toBe(true);
      expect(made.rests).toBeGreaterThan(20);

      const moved = headerOf({ path: '/two', name: 'two' });
      const again = stepped(withHeaderInSteps(new NodeRecord(whole.bytes), moved));
      expect(again.value.bytes.equals(withHeader(whole, moved).bytes)).toBe(true);
      expect(again.rests).toBeGreaterThan(8);

      const decoded = stepped(new NodeRecord(whole.bytes).decode());
      expect(decoded.value).toStrictEqual(properties);
      expect(decoded.rests).toBeGreaterThan(20);

      const text = whole.render(derived);
      for (const shown of [derived, { ...derived, properties }]) {
        const rendered = stepped(new NodeRecord(whole.bytes).renderInSteps(shown));
        expect(rendered.value === text).toBe(true);
        expect(rendered.rests).toBeGreaterThan(5);
      }
    });

    it('shows an index the properties it looks at, and all when one may refer', () => {
      const { bytes } = makeNodeRecord(headerOf({}), properties);
      const plain = new NodeRecord(bytes);
      const { rests } = stepped(plain.prepareIndexed());
      expect(rests).toBeLessThan(20);
      expect(plain.indexedProperties(['big', 'title', 'none'])).toStrictEqual({
        big: 1n << 80n,
        title: 'One',
      });
      expect(new NodeRecord(bytes).indexedProperties(['title'])).toStrictEqual({ title: 'One' });
      const referring = { ...properties, to: { 'svc:ref': 'n2' } };
      const other = new NodeRecord(makeNodeRecord(headerOf({}), referring).bytes);
      expect(stepped(other.prepareIndexed()).rests).toBeGreaterThan(20);
      expect(other.indexedProperties(['title'])).toStrictEqual(referring);
      // Nobody has prepared it.
      expect(new NodeRecord(other.bytes).indexedProperties(['title'])).toStrictEqual(referring);
    });

    it('finds a reference anywhere in its text', () => {
      const recordOf = (lead: string): NodeRecord =>
        new NodeRecord(makeNodeRecord(headerOf({}), { lead, to: { 'svc:ref': 'n2' }, tail }).bytes);
      const tail = 'x'.repeat(STEP_BYTES);
      const key = '"svc:ref"';
      const shortest = recordOf('');
      const textAt = shortest.bytes.indexOf(shortest.render(derived).slice(0, 6));
      const keyAt = shortest.bytes.indexOf(key) - textAt;
      for (let before = 1; before < key.length; before += 1) {
        const record = recordOf('x'.repeat(STEP_BYTES - before - keyAt));
        expect(record.bytes.indexOf(key) - textAt).toBe(STEP_BYTES - before);
        stepped(record.prepareIndexed());
        expect(Object.keys(record.indexedProperties(['lead']))).toEqual(['lead', 'to', 'tail']);
      }
    });

    it('knows of a record with another header what was found in its properties', () => {
      const record = new NodeRecord(makeNodeRecord(headerOf({}), properties).bytes);
      stepped(record.prepareIndexed());
      const { value: moved } = stepped(withHeaderInSteps(record, headerOf({ path: '/two', name: 'two' })));
      expect(stepped(moved.prepareIndexed()).rests).toBe(0);
      expect(moved.indexedProperties(['title'])).toStrictEqual({ title: 'One' });
    });
  });
});
