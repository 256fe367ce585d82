import { describe, expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { PropertySelection } from '#runtime/content/values/property-selection.ts';

const properties: JsonObject = {
  title: 'One',
  hero: { image: { src: 'a.png', alt: 'A' }, text: null },
  items: [{ name: 'a', size: 1 }, { name: 'b' }, 'text', 3, null, [{ name: 'c', size: 2 }]],
  'dotted.key': 1,
  dotted: { key: 2, other: 3 },
  empty: null,
};

const selected = (...names: string[]): unknown => atOnce(new PropertySelection(names).select(properties));

describe('a selection of properties', () => {
  it('takes properties whole, in their order, and passes over what is not there', () => {
    expect(JSON.stringify(selected('hero', 'no-such', 'title', 'empty'))).toBe(
      JSON.stringify({ title: properties.title, hero: properties.hero, empty: null }),
    );
    expect(selected()).toEqual({});
  });

  it('steps into objects, and shows those on the way', () => {
    expect(selected('hero.image.src', 'hero.text')).toEqual({
      hero: { image: { src: 'a.png' }, text: null },
    });
    expect(selected('hero.no', 'title.no', 'empty.no')).toEqual({ hero: {} });
  });

  it('steps into each item of a list', () => {
    expect(selected('items.name')).toEqual({ items: [{ name: 'a' }, { name: 'b' }, [{ name: 'c' }]] });
    expect(selected('items.size')).toEqual({ items: [{ size: 1 }, {}, [{ size: 2 }]] });
    expect(selected('items.0')).toEqual({ items: [{}, {}, [{}]] });
  });

  it('takes the whole where both it and a part are named', () => {
    expect(selected('hero.text', 'hero')).toEqual({ hero: properties.hero });
    expect(selected('hero', 'hero.text')).toEqual({ hero: properties.hero });
  });

  it('takes a property whose own name has dots as well', () => {
    expect(selected('dotted.key')).toEqual({ 'dotted.key': 1, dotted: { key: 2 } });
  });

  it('takes odd keys for what they are', () => {
    const odd = JSON.parse('{"__proto__":{"a":1,"__proto__":2},"constructor":1}') as JsonObject;
    const select = (...names: string[]) => JSON.stringify(atOnce(new PropertySelection(names).select(odd)));
    expect(select('__proto__')).toBe('{"__proto__":{"a":1,"__proto__":2}}');
    expect(select('__proto__.__proto__')).toBe('{"__proto__":{"__proto__":2}}');
    expect(select('constructor', 'toString', 'hasOwnProperty.x')).toBe('{"constructor":1}');
  });

  it('knows whether it has to look into values, and is the same in any order', () => {
    expect(new PropertySelection(['a', 'b']).isFlat).toBe(true);
    expect(new PropertySelection(['a', 'a.b']).isFlat).toBe(true);
    expect(new PropertySelection(['a', 'b.c']).isFlat).toBe(false);
    expect(new PropertySelection(['b', 'a', 'b']).names).toEqual(['a', 'b']);
  });

  it('yields while it processes a long list', () => {
    const steps = new PropertySelection(['list.n']).select({
      list: Array.from({ length: 10_000 }, (_, n) => ({ n, m: n })),
    });
    let rests = 0;
    while (steps.next().done !== true) rests += 1;
    expect(rests).toBeGreaterThanOrEqual(9);
  });
});
