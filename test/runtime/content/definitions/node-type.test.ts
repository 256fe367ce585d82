import { describe, expect, it } from 'vitest';
import { parseArchetypeDefinition } from '#runtime/content/definitions/archetype.ts';
import { parseElementTypeDefinition } from '#runtime/content/definitions/element-type.ts';
import { parseNodeTypeDefinition } from '#runtime/content/definitions/node-type.ts';

const wrongShape = (field: string) => expect.objectContaining({ code: 'UNPROCESSABLE_BODY', field });
const badValue = (field: string) => expect.objectContaining({ code: 'VALIDATION_FAILED', field });
const parse = (more: object) => () => parseNodeTypeDefinition({ name: 'blog:Article', ...more });
const withProperty = (property: object) => parse({ properties: [property] });

describe('parseNodeTypeDefinition', () => {
  it('lists every key of a definition, absent ones as null or an empty list', () => {
    expect(parseNodeTypeDefinition({ name: 'blog:Article' })).toEqual({
      name: 'blog:Article',
      strict: null,
      extends: null,
      mixins: [],
      overrides: null,
      is_mixin: false,
      description: null,
      icon: null,
      properties: [],
      allowed_children: [],
      required_nodes: [],
      initial_structure: null,
      versionable: null,
      immutable: null,
      publishable: null,
      auditable: null,
      indexable: null,
      index_types: null,
      compound_indexes: [],
    });
  });

  it('is its own inverse: what it returns reads as itself [NTYPE-031]', () => {
    const definition = parseNodeTypeDefinition({
      id: 'abc',
      name: 'blog:Article',
      strict: true,
      extends: 'svc:Page',
      mixins: ['blog:Seo'],
      overrides: { title: 'Untitled' },
      properties: [
        {
          name: 'tags',
          property_type: 'array',
          index: ['fulltext', 'Property', 'Fulltext'],
          items: { type: 'string', constraints: { maxLength: 10 } },
          constraints: { max: 3, uniqueItems: true },
        },
        { name: 'seo', type: 'OBJECT', structure: { title: { type: 'String', required: true } } },
      ],
      allowed_children: ['blog:Comment', 'blog:Comment'],
      initial_structure: [['First Child', 'svc:Folder', { properties: { a: 1 } }]],
      index_types: ['property'],
      compound_indexes: [{ name: 'i', columns: [{ property: '__created_at', column_type: 'Timestamp' }] }],
      meta: { group: 'x' },
    });
    expect(definition).toMatchObject({
      properties: [
        {
          name: 'tags',
          type: 'Array',
          index: ['Fulltext', 'Property'],
          items: { name: 'tags', type: 'String' },
        },
        { name: 'seo', type: 'Object', structure: { title: { name: 'title', required: true } } },
      ],
      allowed_children: ['blog:Comment'],
      initial_structure: {
        children: [{ name: 'first-child', node_type: 'svc:Folder', properties: { a: 1 } }],
      },
      index_types: ['Property'],
      compound_indexes: [{ columns: [{ ascending: true }], has_order_column: false }],
      meta: { group: 'x' },
    });
    expect(parseNodeTypeDefinition(JSON.parse(JSON.stringify(definition)))).toEqual(definition);
  });

  it.each(['blog:Article', 'svc:AIAgent', 'a:B', 'Ns:AclFolder'])('takes the name %s', (name) => {
    expect(parseNodeTypeDefinition({ name }).name).toBe(name);
  });

  it.each([
    'article',
    'blog:article',
    'blog:my-type',
    'blog:Article2',
    ':A',
    'blog:',
    'a:b:C',
    'blog:Article\n',
    '',
  ])('refuses the name %j', (name) => {
    expect(() => parseNodeTypeDefinition({ name })).toThrowError(badValue('node_type.name'));
  });

  it('answers 422 naming the field for a missing field or a wrong type', () => {
    expect(() => parseNodeTypeDefinition(undefined)).toThrowError(wrongShape('node_type'));
    expect(() => parseNodeTypeDefinition([])).toThrowError(wrongShape('node_type'));
    expect(() => parseNodeTypeDefinition({})).toThrowError(wrongShape('node_type.name'));
    expect(() => parseNodeTypeDefinition({})).toThrowError(/missing field `name`/);
    expect(parse({ strict: 'yes' })).toThrowError(wrongShape('node_type.strict'));
    expect(parse({ properties: {} })).toThrowError(wrongShape('node_type.properties'));
    expect(parse({ properties: ['x'] })).toThrowError(wrongShape('node_type.properties.0'));
    expect(withProperty({ type: 'String' })).toThrowError(wrongShape('node_type.properties.0.name'));
    expect(withProperty({ name: 'a' })).toThrowError(wrongShape('node_type.properties.0.type'));
    expect(withProperty({ name: 'a', type: 1 })).toThrowError(wrongShape('node_type.properties.0.type'));
    expect(withProperty({ name: 'a', type: 'String', index: 'Fulltext' })).toThrowError(
      wrongShape('node_type.properties.0.index'),
    );
    expect(withProperty({ name: 'a', type: 'String', constraints: [] })).toThrowError(
      wrongShape('node_type.properties.0.constraints'),
    );
    expect(parse({ allowed_children: [1] })).toThrowError(wrongShape('node_type.allowed_children.0'));
  });

  it('answers 400 for a bad value', () => {
    expect(parse({ extends: 'page' })).toThrowError(badValue('node_type.extends'));
    expect(parse({ mixins: ['seo'] })).toThrowError(badValue('node_type.mixins'));
    expect(withProperty({ name: 'a', type: 'Richtext' })).toThrowError(
      badValue('node_type.properties.0.type'),
    );
    expect(withProperty({ name: '', type: 'String' })).toThrowError(badValue('node_type.properties.0.name'));
    expect(withProperty({ name: '$mixins', type: 'Array' })).toThrowError(
      badValue('node_type.properties.0.name'),
    );
    expect(withProperty({ name: 'a', type: 'String', index: ['Btree'] })).toThrowError(
      badValue('node_type.properties.0.index'),
    );
    expect(
      parse({
        properties: [
          { name: 'a', type: 'String' },
          { name: 'a', type: 'Number' },
        ],
      }),
    ).toThrowError(/declared twice/);
    expect(parse({ initial_structure: { children: [{ name: 'x', node_type: 'folder' }] } })).toThrowError(
      /invalid initial structure/,
    );
    expect(
      parse({ initial_structure: { children: [{ name: '///', node_type: 'svc:Folder' }] } }),
    ).toThrowError(badValue('name'));
  });

  it.each([
    [{ minLength: -1 }, 'minLength'],
    [{ minLength: 'x' }, 'minLength'],
    [{ minItems: 1.5 }, 'minItems'],
    [{ min: 'soon' }, 'min'],
    [{ multipleOf: 0 }, 'multipleOf'],
    [{ enum: [] }, 'enum'],
    [{ pattern: '(' }, 'pattern'],
    [{ pattern: '(?=a)' }, 'pattern'],
    [{ uniqueItems: 1 }, 'uniqueItems'],
    [{ min: 3, max: 1 }, 'max'],
    [{ min: '2024-01-01', max: 1 }, 'max'],
    [{ maxLenght: 3 }, 'maxLenght'],
  ])('refuses the constraints %j', (constraints, key) => {
    expect(withProperty({ name: 'a', type: 'String', constraints })).toThrowError(
      badValue(`node_type.properties.0.constraints.${key}`),
    );
  });

  it('bounds how deep a property schema and a definition nest', () => {
    let schema: object = { name: 'a', type: 'String' };
    for (let level = 0; level < 20; level += 1) schema = { name: 'a', type: 'Array', items: schema };
    expect(withProperty(schema)).toThrowError(/nest at most 16/);
    let meta: object = {};
    for (let level = 0; level < 200; level += 1) meta = { meta };
    expect(parse({ meta })).toThrowError(/deeper than 128/);
  });

  it('refuses defaults and fixed values that do not fit their own property', () => {
    for (const bad of [
      { type: 'Number', default: '1' },
      { type: 'String', default: 'abc', constraints: { maxLength: 2 } },
      { type: 'Date', value: 'now' },
      { type: 'Array', default: {} },
    ]) {
      expect(withProperty({ name: 'a', ...bad }), JSON.stringify(bad)).toThrowError(/does not fit/);
    }
    expect(withProperty({ name: 'a', type: 'Number', default: null })).not.toThrow();
    expect(
      withProperty({ name: 'a', type: 'Element', default: { element_type: 'later:Type' } }),
    ).not.toThrow();
  });

  it('makes a mixin of a definition on the mixin route', () => {
    expect(parseNodeTypeDefinition({ name: 'a:B' }, 'mixin').is_mixin).toBe(true);
    expect(parseNodeTypeDefinition({ name: 'a:B', is_mixin: true }).is_mixin).toBe(true);
  });

  it('keeps a property named __proto__ of a structure', () => {
    const json = JSON.parse(
      '{"name":"a:B","properties":[{"name":"o","type":"Object","structure":{"__proto__":{"type":"String"}}}]}',
    );
    const [property] = parseNodeTypeDefinition(json).properties;
    expect(Object.keys(property!.structure!)).toEqual(['__proto__']);
  });
});

describe('parseArchetypeDefinition and parseElementTypeDefinition', () => {
  const fields = [
    { $type: 'TextField', name: 'title', required: true, config: { max_length: 5 } },
    { $type: 'NumberField', name: 'count', is_integer: true, min_value: 1 },
    { $type: 'ElementField', name: 'hero', element_type: 'blog:Hero' },
    { $type: 'SectionField', name: 'body', allowed_element_types: ['blog:Hero'], render_as: 'list' },
    { $type: 'CompositeField', name: 'faq', multiple: true, fields: [{ $type: 'TextField', name: 'q' }] },
    { $type: 'OptionsField', name: 'color', config: { options: ['red'], render_as: 'Radio' } },
    { $type: 'DateField', name: 'day', config: { date_mode: 'Date' } },
  ];

  it('list every key and read back as themselves', () => {
    const archetype = parseArchetypeDefinition({ name: 'blog:Post', base_node_type: 'svc:Page', fields });
    expect(archetype).toMatchObject({
      extends: null,
      layout: null,
      strict: null,
      base_node_type: 'svc:Page',
    });
    expect(archetype.fields[1]).toEqual({
      $type: 'NumberField',
      name: 'count',
      config: { is_integer: true, min_value: 1 },
    });
    expect(parseArchetypeDefinition(JSON.parse(JSON.stringify(archetype)))).toEqual(archetype);
    const element = parseElementTypeDefinition({ name: 'hero-block', fields, layout: [{ type: 'grid' }] });
    expect(element).not.toHaveProperty('base_node_type');
    expect(parseElementTypeDefinition(JSON.parse(JSON.stringify(element)))).toEqual(element);
  });

  it('refuse unknown tags, settings and names', () => {
    const archetype = (more: object) => () => parseArchetypeDefinition({ name: 'blog:Post', ...more });
    expect(archetype({ fields: [{ name: 'a' }] })).toThrowError(wrongShape('archetype.fields.0.$type'));
    expect(archetype({ fields: [{ $type: 'MagicField', name: 'a' }] })).toThrowError(
      badValue('archetype.fields.0.$type'),
    );
    expect(archetype({ fields: [{ $type: 'ElementField', name: 'a' }] })).toThrowError(
      wrongShape('archetype.fields.0.element_type'),
    );
    expect(archetype({ fields: [{ $type: 'CompositeField', name: 'a' }] })).toThrowError(
      wrongShape('archetype.fields.0.fields'),
    );
    expect(archetype({ fields: [{ $type: 'DateField', name: 'a', date_mode: 'Era' }] })).toThrowError(
      /date_mode/,
    );
    expect(archetype({ fields: [{ $type: 'TextField', name: 'a', max_length: -1 }] })).toThrowError(
      /whole number/,
    );
    expect(archetype({ base_node_type: 'page' })).toThrowError(badValue('archetype.base_node_type'));
    expect(archetype({ layout: [{ type: 'magic' }] })).toThrowError(badValue('archetype.layout.0.type'));
    expect(archetype({ fields: [fields[0], fields[0]] })).toThrowError(/declared twice/);
    expect(() => parseArchetypeDefinition({ name: '-' })).toThrowError(badValue('archetype.name'));
  });
});
