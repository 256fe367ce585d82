import { describe, expect, it } from 'vitest';
import { SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import { TYPE_NAME_LENGTH_MAX } from '#runtime/content/definitions/type-name.ts';

describe('a name that no type can have', () => {
  it('is not looked for', () => {
    const asked: string[] = [];
    const ask = (name: string): undefined => {
      asked.push(name);
      return undefined;
    };
    const resolver = new SchemaResolver({ nodeType: ask, archetype: ask, elementType: ask });
    const longest = 'a'.repeat(TYPE_NAME_LENGTH_MAX);
    for (const name of [longest, `${longest}a`]) {
      expect(resolver.nodeType(name)).toBeUndefined();
      expect(resolver.archetype(name)).toBeUndefined();
      expect(resolver.elementType(name)).toBeUndefined();
    }
    expect(asked).toEqual([longest, longest, longest]);
  });
});
