import { describe, expect, it } from 'vitest';
import {
  resolveArchetype,
  resolvedArchetypeJson,
  resolvedElementTypeJson,
  resolveElementType,
} from '#runtime/content/resolution/field-resolver.ts';
import {
  resolvedNodeTypeJson,
  resolveNodeType,
  TYPE_DEPTH_MAX,
} from '#runtime/content/resolution/type-resolver.ts';
import { schemaOf } from '../schema-fixture.ts';

const text = (name: string, more: object = {}) => ({ name, type: 'String', ...more });

describe('resolveNodeType', () => {
  const schema = schemaOf({
    nodeTypes: [
      {
        name: 't:Root',
        properties: [text('a', { default: 'root' }), text('b'), text('z')],
        allowed_children: ['t:One'],
        versionable: true,
        strict: true,
      },
      {
        name: 't:Mixed',
        is_mixin: true,
        properties: [text('b', { default: 'mixin' }), text('m', { required: true })],
      },
      { name: 't:Extra', is_mixin: true, mixins: ['t:Mixed'], properties: [text('m', { default: 'extra' })] },
      {
        name: 't:Middle',
        extends: 't:Root',
        mixins: ['t:Mixed'],
        properties: [text('c', { unique: true, index: ['Fulltext'] })],
        allowed_children: ['t:Two', 't:One'],
        initial_structure: { properties: { z: 'initial' } },
      },
      {
        name: 't:Leaf',
        extends: 't:Middle',
        mixins: ['t:Extra'],
        properties: [{ name: 'c', type: 'Reference' }],
        overrides: { a: 'leaf', absent: 1 },
        versionable: false,
      },
    ],
  });

  it('merges parents, mixins, own properties and overrides, later ones winning [NTYPE-012, NTYPE-013, NTYPE-032, NTYPE-033, NTYPE-034, NTYPE-035]', () => {
    const leaf = resolveNodeType('t:Leaf', schema);
    expect(resolvedNodeTypeJson(leaf)).toMatchObject({
      node_type: { name: 't:Leaf' },
      resolved_properties: [
        { name: 'a', default: 'leaf' },
        { name: 'b', default: 'mixin' },
        { name: 'c', type: 'Reference' },
        { name: 'm', default: 'extra' },
        { name: 'z' },
      ],
      resolved_allowed_children: ['t:One', 't:Two'],
      resolved_mixins: ['t:Mixed', 't:Extra'],
      inheritance_chain: ['t:Leaf', 't:Middle', 't:Root'],
    });
    expect(leaf.supertypes).toEqual(['t:Middle', 't:Root']);
    expect(leaf.properties).toHaveLength(5);
  });

  it('precomputes what writes need', () => {
    const middle = resolveNodeType('t:Middle', schema);
    expect(middle.required).toEqual(['m']);
    expect(middle.unique).toEqual(['c']);
    expect(middle.indexed).toEqual([{ name: 'c', kinds: ['Fulltext'] }]);
    expect(resolveNodeType('t:Leaf', schema).references).toEqual(['c']);
    expect(Object.fromEntries(middle.defaults)).toEqual({ z: 'initial', a: 'root', b: 'mixin' });
    expect(Object.isFrozen(middle)).toBe(true);
    expect(middle.byName.get('m')?.schema.required).toBe(true);
  });

  it('takes flags that are null from the nearest ancestor that sets them', () => {
    const leaf = resolveNodeType('t:Leaf', schema);
    expect([leaf.strict, leaf.versionable, leaf.auditable]).toEqual([true, false, false]);
    expect(resolveNodeType('t:Middle', schema).versionable).toBe(true);
  });

  it('ANDs indexable and intersects index types of mixins, unless the type says otherwise', () => {
    const source = schemaOf({
      nodeTypes: [
        { name: 't:A', indexable: false, index_types: ['Property', 'Vector'] },
        { name: 't:B', index_types: ['Vector', 'Fulltext'] },
        { name: 't:C', mixins: ['t:A', 't:B'] },
        { name: 't:D', mixins: ['t:A', 't:B'], indexable: true, index_types: ['Fulltext'] },
        { name: 't:E' },
      ],
    });
    expect(resolveNodeType('t:C', source)).toMatchObject({ indexable: false, indexTypes: ['Vector'] });
    expect(resolveNodeType('t:D', source)).toMatchObject({ indexable: true, indexTypes: ['Fulltext'] });
    expect(resolveNodeType('t:E', source)).toMatchObject({
      indexable: true,
      indexTypes: ['Fulltext', 'Vector', 'Property'],
    });
  });

  it('allows any child for an empty list and for *', () => {
    const source = schemaOf({
      nodeTypes: [
        { name: 't:A' },
        { name: 't:B', allowed_children: ['*'] },
        { name: 't:C', allowed_children: ['t:A'] },
      ],
    });
    expect(resolveNodeType('t:A', source).allowsAnyChild).toBe(true);
    expect(resolveNodeType('t:B', source).allowsAnyChild).toBe(true);
    expect(resolveNodeType('t:C', source).allowsAnyChild).toBe(false);
  });

  it('refuses types that are missing, circular or too deep, naming them', () => {
    const chain = Array.from({ length: TYPE_DEPTH_MAX + 1 }, (_, index) => ({
      name: `t:${String.fromCharCode(65 + index)}`,
      ...(index === 0 ? {} : { extends: `t:${String.fromCharCode(64 + index)}` }),
    }));
    const source = schemaOf({
      nodeTypes: [
        ...chain,
        { name: 'x:Orphan', extends: 'x:Gone' },
        { name: 'x:Mixless', mixins: ['x:Gone'] },
        { name: 'x:Self', extends: 'x:Self' },
        { name: 'x:Ping', extends: 'x:Pong' },
        { name: 'x:Pong', mixins: ['x:Ping'] },
      ],
    });
    const failing = (name: string) => () => resolveNodeType(name, source);
    const failed = expect.objectContaining({ code: 'VALIDATION_FAILED' });
    for (const name of ['x:None', 'x:Orphan', 'x:Mixless', 'x:Self', 'x:Ping', 't:U']) {
      expect(failing(name)).toThrowError(failed);
    }
    expect(failing('x:None')).toThrowError("NodeType 'x:None' not found");
    expect(failing('x:Orphan')).toThrowError(/'x:Orphan' extends 'x:Gone'/);
    expect(failing('x:Ping')).toThrowError(/x:Ping -> x:Pong -> x:Ping/);
    expect(failing('t:U')).toThrowError(/more than 20 levels/);
    expect(resolveNodeType('t:T', source).inheritanceChain).toHaveLength(TYPE_DEPTH_MAX);
  });

  it('resolves a lattice of mixins in time linear in its size', () => {
    const nodeTypes = Array.from({ length: 19 }, (_, index) => {
      const letter = String.fromCharCode(65 + index);
      const below = String.fromCharCode(66 + index);
      const mixins = index === 18 ? [] : [`l:${below}`, `r:${below}`];
      return [
        { name: `l:${letter}`, mixins },
        { name: `r:${letter}`, mixins },
      ];
    }).flat();
    // Without merging each mixin once this would visit 2^18 of them.
    expect(resolveNodeType('l:A', schemaOf({ nodeTypes })).mixins).toHaveLength(36);
  });
});

describe('resolveArchetype and resolveElementType', () => {
  const field = (name: string, more: object = {}) => ({ $type: 'TextField', name, ...more });
  const schema = schemaOf({
    archetypes: [
      {
        name: 'a:Base',
        fields: [field('x'), field('y')],
        base_node_type: 'svc:Page',
        strict: true,
        layout: [],
      },
      {
        name: 'a:Post',
        extends: 'a:Base',
        fields: [field('y', { required: true }), field('w', { default_value: 1 })],
      },
      { name: 'a:Orphan', extends: 'a:Gone' },
    ],
    elementTypes: [
      { name: 'e:Hero', fields: [field('x')] },
      { name: 'e:Big', extends: 'e:Hero', strict: true },
    ],
  });

  it('merge fields along the chain [SCHEMA-015, SCHEMA-016]', () => {
    const post = resolveArchetype('a:Post', schema);
    expect(resolvedArchetypeJson(post)).toMatchObject({
      archetype: { name: 'a:Post' },
      resolved_fields: [{ name: 'x' }, { name: 'y', required: true }, { name: 'w' }],
      resolved_layout: [],
      inheritance_chain: ['a:Post', 'a:Base'],
      resolved_strict: true,
    });
    expect(post).toMatchObject({ baseNodeType: 'svc:Page', required: ['y'], defaults: [['w', 1]] });
    expect(resolvedElementTypeJson(resolveElementType('e:Big', schema))).toMatchObject({
      element_type: { name: 'e:Big' },
      resolved_fields: [{ name: 'x' }],
      resolved_strict: true,
      resolved_layout: null,
    });
  });

  it('refuse missing ones', () => {
    expect(() => resolveArchetype('a:None', schema)).toThrowError(/Archetype not found/);
    expect(() => resolveArchetype('a:Orphan', schema)).toThrowError(/extends 'a:Gone'/);
    expect(() => resolveElementType('e:None', schema)).toThrowError(/ElementType not found/);
  });

  it('are resolved once by a resolver, which answers undefined for unknown names', () => {
    expect(schema.resolved.archetype('a:Post')).toBe(schema.resolved.archetype('a:Post'));
    expect(schema.resolved.elementType('e:Hero')).toBe(schema.resolved.elementType('e:Hero'));
    expect(schema.resolved.archetype('a:None')).toBeUndefined();
    expect(schema.resolved.elementType('e:None')).toBeUndefined();
    expect(schema.resolved.nodeType('t:None')).toBeUndefined();
  });
});
