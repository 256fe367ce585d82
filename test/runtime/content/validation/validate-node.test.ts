import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { ISSUES_MAX } from '#runtime/content/validation/validation.ts';
import { CHECK_WORK_MAX } from '#runtime/content/validation/check-work.ts';
import {
  fillDefaults,
  PROPERTIES_SIZE_MAX,
  PROPERTY_COUNT_MAX,
  prepareProperties,
  requireArchetype,
  stripDerived,
  validateProperties,
} from '#runtime/content/validation/validate-node.ts';
import { type Definitions, schemaOf } from '../schema-fixture.ts';

const TYPE = 't:Thing';

function check(property: object, value: JsonValue): string[] {
  const { resolved } = schemaOf({ nodeTypes: [{ name: TYPE, properties: [{ name: 'p', ...property }] }] });
  return validateProperties(resolved.nodeType(TYPE)!, null, { p: value }, resolved).map(
    (issue) => issue.message,
  );
}

function setUp(definitions: Definitions) {
  const { resolved } = schemaOf(definitions);
  const type = resolved.nodeType(TYPE)!;
  const messages = (properties: JsonObject, archetype: string | null = null): string[] =>
    validateProperties(
      type,
      archetype === null ? null : resolved.archetype(archetype)!,
      properties,
      resolved,
    ).map((issue) => issue.message);
  return { resolved, type, messages };
}

describe('required and strict', () => {
  const { type, messages, resolved } = setUp({
    nodeTypes: [
      { name: 't:Base', properties: [{ name: 'title', type: 'String', required: true }] },
      { name: TYPE, extends: 't:Base', strict: true, properties: [{ name: 'body', type: 'String' }] },
    ],
  });

  it('names every missing and undefined property', () => {
    expect(messages({ body: 'x', extra: 1, more: 2 })).toEqual([
      `Missing required property 'title' for NodeType '${TYPE}'`,
      `Undefined property 'extra' in strict mode for NodeType '${TYPE}'`,
      `Undefined property 'more' in strict mode for NodeType '${TYPE}'`,
    ]);
  });

  it('counts null as present [VAL-002]', () => {
    expect(messages({ title: null })).toEqual([]);
  });

  it('lets a node that was read be written back to a strict type [EASY-003]', () => {
    const read = { title: 'a', $supertypes: ['t:Base'], $mixins: [] };
    expect(messages(read)).toEqual([]);
    expect(prepareProperties(type, null, read, resolved, 'update')).toEqual({ title: 'a' });
    const plain = { title: 'a' };
    expect(stripDerived(plain)).toBe(plain);
  });

  it('reports where each issue is', () => {
    expect(validateProperties(type, null, { title: 1 }, resolved)).toEqual([
      { message: "Property 'title' must be a string", property: 'title', pointer: '/title' },
    ]);
  });

  it('throws one error with all messages', () => {
    expect(() => prepareProperties(type, null, { extra: 1 }, resolved, 'create')).toThrowError(
      expect.objectContaining({
        code: 'VALIDATION_FAILED',
        message: expect.stringContaining(
          `Missing required property 'title' for NodeType '${TYPE}'; Undefined`,
        ),
        details: { errors: [expect.any(String), expect.any(String)] },
      }),
    );
  });

  it('is not fooled by names of Object.prototype', () => {
    const { messages: loose } = setUp({
      nodeTypes: [{ name: TYPE, properties: [{ name: 'constructor', type: 'String', required: true }] }],
    });
    expect(loose({})).toEqual([`Missing required property 'constructor' for NodeType '${TYPE}'`]);
    expect(messages(JSON.parse('{"title":"a","__proto__":{"body":1}}') as JsonObject)).toEqual([
      `Undefined property '__proto__' in strict mode for NodeType '${TYPE}'`,
    ]);
  });
});

describe('property types', () => {
  it.each<[string, readonly JsonValue[], readonly JsonValue[]]>([
    ['String', ['', 'x', '\ud800', '123.45'], [1, true, [], {}]],
    ['Number', [0, -1.5, 1e308, 2 ** 60], ['1', true, [], {}]],
    ['Boolean', [true, false], ['true', 0]],
    ['Array', [[], [1, 'a', null]], ['', {}]],
    ['Object', [{}, { a: [1] }], [[], 'x']],
    ['Date', ['2024-01-31', '2024-01-31T10:00:00Z'], ['tomorrow', 20240131, '2023-02-29']],
    [
      'URL',
      ['https://a.b/c', '/local', { 'svc:url': 'https://a.b', 'svc:label': 'x' }],
      ['not a url', 1, {}],
    ],
    [
      'Reference',
      [{ 'svc:ref': 'id' }, { 'svc:ref': '/p', 'svc:workspace': 'w', 'svc:path': '/p' }],
      ['id', {}, { 'svc:ref': 1 }, { 'svc:ref': '' }, { 'svc:ref': 'x', 'svc:workspace': 1 }],
    ],
    ['NodeType', ['svc:Page'], ['page', 1]],
    ['Resource', [{}, { uuid: 'u', size: 3 }, 'inline text'], [1, [], { size: '3' }]],
    ['Geometry', [{ type: 'Point', coordinates: [1, 2] }], ['x', { type: 'Point', coordinates: [1] }]],
    ['Composite', [[], { uuid: 'u', items: [] }], ['x', {}, [1]]],
    ['Element', [], ['x', {}, []]],
  ])('%s takes its values and null, and refuses others', (type, good, bad) => {
    for (const value of [...good, null]) expect(check({ type }, value), JSON.stringify(value)).toEqual([]);
    for (const value of bad) expect(check({ type }, value), JSON.stringify(value)).not.toEqual([]);
  });
});

describe('constraints', () => {
  it.each<[object, readonly JsonValue[], readonly JsonValue[]]>([
    [{ type: 'Number', constraints: { min: 1, max: 3 } }, [1, 3, null], [0, 4]],
    [{ type: 'Number', constraints: { minimum: 1, exclusiveMaximum: 3 } }, [1, 2.9], [0, 3]],
    [{ type: 'Number', constraints: { exclusiveMinimum: 1, maximum: 3 } }, [1.1, 3], [1, 3.1]],
    [{ type: 'Number', constraints: { multipleOf: 0.1 } }, [0.3, -2, 1e15], [0.35]],
    [{ type: 'String', constraints: { min: 2, max: 3 } }, ['ab', 'abc', '😀😀'], ['a', '😀', 'abcd']],
    [{ type: 'String', constraints: { minLength: 1, maxLength: 2 } }, ['a', '😀😀'], ['', 'abc']],
    [{ type: 'String', constraints: { pattern: '^[a-z]+$' } }, ['abc'], ['aBc', 'a'.repeat(10_001)]],
    [{ type: 'String', constraints: { enum: ['a', 'b'] } }, ['a', null], ['c', 'A']],
    [{ type: 'Object', constraints: { enum: [{ a: 1, b: 2 }] } }, [{ b: 2, a: 1 }], [{ a: 1 }]],
    [{ type: 'Array', constraints: { min: 1, max: 2 } }, [[1], [1, 2]], [[], [1, 2, 3]]],
    [
      { type: 'Array', constraints: { minItems: 1, maxItems: 2, uniqueItems: true } },
      [[1, '1']],
      [[], [1, 1], [{ a: 1 }, { a: 1 }]],
    ],
    [
      { type: 'Date', constraints: { min: '2024-01-01' } },
      ['2024-01-01', '2024-06-01T00:00:00Z'],
      ['2023-12-31'],
    ],
    [
      { type: 'Date', constraints: { max: '2024-01-01T12:00:00+02:00' } },
      ['2024-01-01T10:00:00Z'],
      ['2024-01-01T10:00:01Z'],
    ],
    [
      { type: 'URL', constraints: { max: 12 } },
      ['/a', { 'svc:url': '/a-very-long-path' }],
      ['/a-very-long-path'],
    ],
    [{ type: 'String', value: 'fixed' }, ['fixed', null], ['other']],
    [{ type: 'Array', items: { type: 'Number', constraints: { min: 0 } } }, [[], [0, 1]], [['a'], [-1]]],
  ])('%j', (property, good, bad) => {
    for (const value of good) expect(check(property, value), JSON.stringify(value)).toEqual([]);
    for (const value of bad) expect(check(property, value), JSON.stringify(value)).toHaveLength(1);
  });

  it('reach into structure and items, naming the place', () => {
    const property = {
      type: 'Object',
      allow_additional_properties: false,
      structure: {
        name: { type: 'String', required: true },
        list: { type: 'Array', items: { type: 'Object', structure: { n: { type: 'Number' } } } },
      },
    };
    expect(check(property, { name: 'x', list: [{ n: 1 }, { n: null, other: 1 }] })).toEqual([]);
    expect(check(property, { list: [{ n: 'x' }], extra: 1 })).toEqual([
      "Property 'p' misses the required key 'name'",
      "Property 'p.list.0.n' must be a number",
      "Property 'p' must not have the key 'extra'",
    ]);
    expect(check({ type: 'Object', structure: {} }, { anything: 1 })).toEqual([]);
  });
});

describe('bounds', () => {
  const { messages } = setUp({ nodeTypes: [{ name: TYPE }] });
  const nested = (levels: number): JsonValue => {
    let value: JsonValue = 1;
    for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { v: value };
    return value;
  };

  it('refuse values nested over 128 levels, also very deep ones', () => {
    expect(messages({ p: nested(128) })).toEqual([]);
    expect(messages({ p: nested(129) })).toEqual(["Property 'p' nests deeper than 128 levels"]);
    expect(messages({ p: nested(5_000) })).toEqual(["Property 'p' nests deeper than 128 levels"]);
  });

  it('refuse too many properties, long names, numbers JSON cannot write, too much in all', () => {
    const many = Object.fromEntries(
      Array.from({ length: PROPERTY_COUNT_MAX + 1 }, (_, index) => [`k${index}`, 1]),
    );
    expect(messages(many)).toEqual(['A node has at most 4096 properties']);
    expect(messages({ ['k'.repeat(1_025)]: 1 })).toEqual(['A property name is too long']);
    expect(messages({ p: JSON.parse('[1e999]') as JsonValue })).toEqual([
      "Property 'p' has a number too large to be stored",
    ]);
    expect(messages({ p: 'x'.repeat(PROPERTIES_SIZE_MAX + 1) })).toEqual([
      expect.stringContaining('The properties are larger than'),
    ]);
  });

  it('collects a bounded number of issues', () => {
    const { messages: strict } = setUp({ nodeTypes: [{ name: TYPE, strict: true }] });
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`k${index}`, 1]));
    expect(strict(many)).toHaveLength(ISSUES_MAX);
  });
});

describe('fillDefaults', () => {
  const { type, resolved } = setUp({
    nodeTypes: [
      {
        name: TYPE,
        properties: [
          { name: 'a', type: 'String', default: 'x', required: true },
          { name: 'b', type: 'Number', value: 2 },
          { name: 'c', type: 'String', default: 'c' },
        ],
      },
    ],
    archetypes: [
      { name: 'a:One', fields: [{ $type: 'TextField', name: 'd', default_value: 'from archetype' }] },
    ],
  });

  it('fills absent keys on create only, and null is not absent [VAL-022, VAL-023]', () => {
    expect(prepareProperties(type, null, { c: null }, resolved, 'create')).toEqual({ c: null, a: 'x', b: 2 });
    expect(() => prepareProperties(type, null, {}, resolved, 'update')).toThrowError(
      /Missing required property 'a'/,
    );
    expect(fillDefaults(type, resolved.archetype('a:One')!, {})).toEqual({
      a: 'x',
      b: 2,
      c: 'c',
      d: 'from archetype',
    });
  });

  it('returns the same object when nothing is absent', () => {
    const whole = { a: '1', b: 2, c: '3' };
    expect(fillDefaults(type, null, whole)).toBe(whole);
    expect(prepareProperties(type, null, whole, resolved, 'create')).toBe(whole);
  });
});

describe('archetypes', () => {
  const { type, messages, resolved } = setUp({
    nodeTypes: [{ name: TYPE, properties: [{ name: 'title', type: 'String', required: true }] }],
    archetypes: [
      {
        name: 'a:Post',
        base_node_type: TYPE,
        strict: true,
        fields: [
          { $type: 'TextField', name: 'lead', required: true, config: { max_length: 5 } },
          { $type: 'LocationField', name: 'where' },
        ],
      },
      { name: 'a:Any' },
      { name: 'a:Other', base_node_type: 't:Other' },
    ],
  });

  it('add required and strict rules to those of the node type', () => {
    expect(messages({ title: 'x', lead: 'short' }, 'a:Post')).toEqual([]);
    expect(messages({ lead: 'too long', extra: 1 }, 'a:Post')).toEqual([
      `Missing required property 'title' for NodeType '${TYPE}'`,
      "Property 'lead' must have at most 5 characters",
      "Undefined property 'extra' in strict mode for Archetype 'a:Post'",
    ]);
    expect(messages({ title: 'x' }, 'a:Post')).toEqual([
      "Missing required property 'lead' for Archetype 'a:Post'",
    ]);
  });

  it('must exist and be meant for the type', () => {
    expect(requireArchetype('a:Post', type, resolved).name).toBe('a:Post');
    expect(requireArchetype('a:Any', type, resolved).name).toBe('a:Any');
    expect(() => requireArchetype('a:Gone', type, resolved)).toThrowError(/Archetype not found/);
    expect(() => requireArchetype('a:Other', type, resolved)).toThrowError(
      expect.objectContaining({ code: 'VALIDATION_FAILED', field: 'archetype' }),
    );
  });

  it('store locations as GeoJSON Points [VAL-019]', () => {
    const archetype = resolved.archetype('a:Post')!;
    const given = { title: 'x', lead: 'y', where: { lat: 47.4, lng: 8.5 } };
    const stored = { ...given, where: { type: 'Point', coordinates: [8.5, 47.4] } };
    expect(prepareProperties(type, archetype, given, resolved, 'create')).toEqual(stored);
    expect(prepareProperties(type, archetype, stored, resolved, 'update')).toBe(stored);
    expect(messages({ ...given, where: { lat: 91, lng: 0 } }, 'a:Post')).toEqual([
      expect.stringContaining("Property 'where' must be a location"),
    ]);
  });
});

describe('fields', () => {
  function checkField(field: object, value: JsonValue): string[] {
    const { messages } = setUp({
      nodeTypes: [{ name: TYPE }],
      archetypes: [{ name: 'a:One', fields: [{ name: 'f', ...field }] }],
      elementTypes: [
        { name: 'e:Hero', fields: [] },
        { name: 'e:Text', fields: [] },
      ],
    });
    return messages({ f: value }, 'a:One');
  }
  const file = { uuid: 'u', mime_type: 'image/png' };

  it.each<[object, readonly JsonValue[], readonly JsonValue[]]>([
    [{ $type: 'TextField' }, ['x', null], [1, {}]],
    [
      { $type: 'RichTextField', config: { max_length: 3 } },
      ['abc', '😀😀😀', { type: 'doc' }, []],
      ['abcd', 1],
    ],
    [
      { $type: 'NumberField', config: { is_integer: true, min_value: 1, max_value: 3 } },
      [1, 3],
      [0, 4, 1.5, '1'],
    ],
    [{ $type: 'DateField' }, ['2024-01-01'], ['x', 1]],
    [{ $type: 'DateField', config: { date_mode: 'Time' } }, ['09:30'], ['2024-01-01']],
    [{ $type: 'DateField', config: { date_mode: 'TimeRange' } }, [{ from: '09:00' }, '9-10'], [1]],
    [{ $type: 'BooleanField' }, [true], ['true']],
    [{ $type: 'JsonObjectField' }, [{}], [[], 'x']],
    [{ $type: 'MediaField' }, [file, { 'svc:ref': 'x' }], [1]],
    [{ $type: 'MediaField', config: { allowed_types: ['image'] } }, [file], [{ mime_type: 'text/plain' }]],
    [{ $type: 'MediaField', config: { allowed_types: ['image/*'] } }, [file], [{ mime_type: 'imagery/x' }]],
    [{ $type: 'ReferenceField' }, [{ 'svc:ref': 'x' }], ['x']],
    [{ $type: 'ListingField' }, [{}, []], ['x']],
    [
      { $type: 'TagField', config: { allowed_tags: ['a', 'b'], max_tags: 1 } },
      [['a'], []],
      [['c'], ['a', 'b'], 'a'],
    ],
    [
      { $type: 'OptionsField', config: { options: ['a', { value: 'b', label: 'B' }] } },
      ['a', 'b'],
      ['c', ['a']],
    ],
    [{ $type: 'OptionsField', config: { options: ['a'], multi_select: true } }, [['a'], 'a'], [['b']]],
    [
      { $type: 'ElementField', element_type: 'e:Hero' },
      [{ element_type: 'e:Hero' }],
      [{ element_type: 'e:Text' }, {}],
    ],
    [
      { $type: 'ElementField', element_type: 'e:Hero', multiple: true },
      [[], [{ element_type: 'e:Hero' }]],
      [[{ element_type: 'e:Text' }], { element_type: 'e:Hero' }],
    ],
    [
      { $type: 'SectionField', allowed_element_types: ['e:Hero'] },
      [[], { uuid: 'u', items: [{ element_type: 'e:Hero' }] }],
      [[{ element_type: 'e:Text' }], { items: [{ element_type: 'e:Text' }] }, 'x'],
    ],
    [{ $type: 'SectionField' }, [[{ element_type: 'e:Text' }]], [[{ element_type: 'e:Gone' }]]],
    [
      { $type: 'CompositeField', fields: [{ $type: 'TextField', name: 'q', required: true }] },
      [{ q: 'x', other: 1 }],
      [{}, { q: 1 }, 'x'],
    ],
    [
      {
        $type: 'CompositeField',
        multiple: true,
        fields: [{ $type: 'TextField', name: 'q', translatable: true }],
      },
      [[{ uuid: 'a' }, { uuid: 'b' }], []],
      [[{ q: 'x' }], [{ uuid: 'a' }, { uuid: 'a' }]],
    ],
    [
      { $type: 'CompositeField', multiple: true, fields: [{ $type: 'LocationField', name: 'at' }] },
      [[{ at: { lat: 1, lng: 2 } }], { items: [{ at: { latitude: 1, longitude: 2 } }] }],
      [[{ at: { lat: 100, lng: 2 } }]],
    ],
  ])('%j', (field, good, bad) => {
    for (const value of good) expect(checkField(field, value), JSON.stringify(value)).toEqual([]);
    for (const value of bad) expect(checkField(field, value), JSON.stringify(value)).toHaveLength(1);
  });

  it('name the message keys of composite uuids [VAL-018]', () => {
    const field = {
      $type: 'CompositeField',
      multiple: true,
      fields: [{ $type: 'TextField', name: 'q', translatable: true }],
    };
    expect(checkField(field, [{}])[0]).toContain('COMPOSITE_MISSING_UUID');
    expect(checkField(field, [{ uuid: 'a' }, { uuid: 'a' }])[0]).toContain('COMPOSITE_DUPLICATE_UUID');
  });
});

describe('elements', () => {
  const { type, messages, resolved } = setUp({
    nodeTypes: [
      {
        name: TYPE,
        properties: [
          { name: 'hero', type: 'Element' },
          { name: 'body', type: 'Composite' },
        ],
      },
    ],
    elementTypes: [
      {
        name: 'e:Hero',
        strict: true,
        fields: [
          { $type: 'TextField', name: 'title', required: true },
          { $type: 'LocationField', name: 'at' },
          { $type: 'SectionField', name: 'inner' },
        ],
      },
      { name: 'e:Raw', fields: [{ $type: 'JsonObjectField', name: 'content' }] },
    ],
  });

  it('are checked against their element type, nested ones too', () => {
    expect(messages({ hero: { element_type: 'e:Hero', uuid: 'u', title: 'x' } })).toEqual([]);
    expect(messages({ hero: { element_type: 'e:Hero', extra: 1 } })).toEqual([
      "Missing required field 'title' for ElementType 'e:Hero' at 'hero'",
      "Undefined field 'extra' in strict mode for ElementType 'e:Hero' at 'hero'",
    ]);
    expect(messages({ hero: { element_type: 'e:Gone' } })).toEqual([
      "ElementType 'e:Gone' not found at 'hero'",
    ]);
    expect(
      messages({ body: [{ element_type: 'e:Hero', title: 'x', inner: [{ element_type: 'e:Hero' }] }] }),
    ).toEqual(["Missing required field 'title' for ElementType 'e:Hero' at 'body.0.inner.0'"]);
    expect(messages({ body: { items: [{ element_type: 'e:Hero', title: 1 }] } })).toEqual([
      "Property 'body.items.0.title' must be a string",
    ]);
  });

  it('written the nested way are stored flat [VAL-029]', () => {
    const given = {
      body: [
        {
          element_type: 'e:Hero',
          uuid: 'u',
          content: { title: 'x', at: { lat: 1, lng: 2 }, element_type: 'no' },
        },
      ],
      free: { element_type: 'unknown', content: { a: 1 } },
    };
    expect(prepareProperties(type, null, given, resolved, 'create')).toEqual({
      body: [{ title: 'x', at: { type: 'Point', coordinates: [2, 1] }, element_type: 'e:Hero', uuid: 'u' }],
      free: { a: 1, element_type: 'unknown' },
    });
  });

  it('keep a content that is a field of their type, or of an unknown type with other keys', () => {
    const given = {
      hero: { element_type: 'e:Raw', content: { a: 1 } },
      free: { element_type: 'unknown', content: { a: 1 }, b: 2 },
    };
    expect(prepareProperties(type, null, given, resolved, 'create')).toBe(given);
  });
});

describe('any JSON', () => {
  it('is stored unchanged by a type that declares nothing, and bounded', () => {
    const { type, resolved } = setUp({ nodeTypes: [{ name: TYPE }] });
    const keys = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 5 }),
      fc.constantFrom('__proto__', 'constructor'),
    );
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constant(null),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.string({ unit: 'binary', maxLength: 5 }),
        fc.constant('\ud800 lone'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc
          .array(fc.tuple(keys, tie('value')), { maxLength: 3 })
          .map((entries) => Object.fromEntries(entries)),
      ),
    }));
    fc.assert(
      fc.property(fc.array(fc.tuple(keys, value), { maxLength: 5 }), (entries) => {
        const given = Object.fromEntries(entries) as JsonObject;
        expect(prepareProperties(type, null, given, resolved, 'create')).toBe(given);
      }),
    );
  });
});

describe('the work of a check', () => {
  const hard = '^(a|b)*a(a|b){300}$';
  /** Texts in which every place has another set of states, so that nothing remembered helps. */
  const mixed = (seed: number): string =>
    Array.from({ length: 5_000 }, (_, at) =>
      (Math.imul(at + seed, 0x9e3779b1) >>> 15) & 1 ? 'a' : 'b',
    ).join('');
  const type = (count: number, pattern: string): object => ({
    name: TYPE,
    properties: Array.from({ length: count }, (_, index) => ({
      name: `p${index}`,
      type: 'String',
      constraints: { pattern },
    })),
  });
  const texts = (count: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, mixed(index)]));

  it('is bounded for a whole node, not for each of its values', () => {
    const { resolved } = schemaOf({ nodeTypes: [type(100, hard)] });
    const budget = new RequestBudget();
    expect(() => validateProperties(resolved.nodeType(TYPE)!, null, texts(100), resolved, budget)).toThrow(
      expect.objectContaining({
        code: 'REQUEST_TOO_EXPENSIVE',
        message: expect.stringContaining('patterns'),
      }),
    );
    expect(budget.work).toBeLessThanOrEqual(CHECK_WORK_MAX);
  });

  it('counts against the budget of the request that checks many nodes', () => {
    const { resolved } = schemaOf({ nodeTypes: [type(1, '^[a-z]+$')] });
    const budget = new RequestBudget({ workMax: 1_000_000, memoryMax: 1 });
    const checkOne = () =>
      validateProperties(resolved.nodeType(TYPE)!, null, { p0: mixed(1) }, resolved, budget);
    expect(() => {
      for (let node = 0; node < 100; node += 1) checkOne();
    }).toThrow('work that one may take');
  });

  it('leaves room for a hundred long texts with ordinary patterns', () => {
    const { messages } = setUp({ nodeTypes: [type(100, '^[a-z ,.]+$')] });
    const long = 'lorem ipsum, dolor sit amet. '.repeat(340);
    const properties = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`p${index}`, long]));
    expect(messages(properties)).toEqual([]);
  });

  it('refuses a definition whose patterns take too long to compile', () => {
    const patterns = Array.from({ length: 100 }, (_, index) => ({
      name: `p${index}`,
      type: 'String',
      constraints: { pattern: `^x{900}${index}$` },
    }));
    expect(() => schemaOf({ nodeTypes: [{ name: TYPE, properties: patterns }] })).toThrow(
      expect.objectContaining({ code: 'REQUEST_TOO_EXPENSIVE' }),
    );
  });

  it('does not grow with the length of the expected value of a wrong list', () => {
    const allowed_tags = Array.from({ length: 5_000 }, (_, index) => `tag-${index}`);
    const { resolved } = schemaOf({
      nodeTypes: [{ name: TYPE }],
      archetypes: [{ name: 'a', fields: [{ $type: 'TagField', name: 'tags', config: { allowed_tags } }] }],
    });
    const budget = new RequestBudget();
    const archetype = resolved.archetype('a')!;
    const tags = new Array<string>(100_000).fill('tag-4999');
    validateProperties(resolved.nodeType(TYPE)!, archetype, { tags }, resolved, budget);
    expect(budget.work).toBeLessThan(CHECK_WORK_MAX);
  });
});
