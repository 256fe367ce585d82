import { describe, expect, it } from 'vitest';
import { parseArchetypeDefinition } from '#runtime/content/definitions/archetype.ts';
import { parseElementTypeDefinition } from '#runtime/content/definitions/element-type.ts';
import { type FieldType, fieldSettings, fieldTypes } from '#runtime/content/definitions/field-schema.ts';
import {
  newLanguageSettings,
  patchLanguageSettings,
} from '#runtime/content/translations/translation-config.ts';
import { parseNodeTypeDefinition } from '#runtime/content/definitions/node-type.ts';
import { newSchemaRecord, publishedSchemaRecord } from '#runtime/content/definitions/schema-record.ts';
import {
  parseWorkspaceConfig,
  parseWorkspaceDefinition,
} from '#runtime/content/definitions/workspace-definition.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const now = '2026-01-01T00:00:00.000Z';

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof ServiceError) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'taken';
}

const unknown = (field: string, advice: string) => `VALIDATION_FAILED Unknown field '${field}'; ${advice}`;

const nodeType = (rest: object) => refusal(() => parseNodeTypeDefinition({ name: 'site:Page', ...rest }));
const property = (rest: object) => nodeType({ properties: [{ name: 'p', type: 'Object', ...rest }] });
const workspace = (rest: object) =>
  refusal(() =>
    parseWorkspaceDefinition(
      'w',
      { allowed_node_types: [], allowed_root_node_types: [], ...rest },
      null,
      now,
    ),
  );

describe('a definition with a field that there is not', () => {
  it('is refused as a node type, everywhere in it', () => {
    expect(nodeType({ strictt: true })).toBe(unknown('node_type.strictt', "did you mean 'strict'?"));
    expect(nodeType({ allowedChildren: [] })).toBe(
      unknown('node_type.allowedChildren', "did you mean 'allowed_children'?"),
    );
    expect(nodeType({ compound_indexes: [{ name: 'i', columns: [{ property: 'p' }], unique: true }] })).toBe(
      unknown('node_type.compound_indexes.0.unique', 'known are name, columns, has_order_column'),
    );
    expect(
      nodeType({ compound_indexes: [{ name: 'i', columns: [{ property: 'p', asscending: false }] }] }),
    ).toBe(unknown('node_type.compound_indexes.0.columns.0.asscending', "did you mean 'ascending'?"));
    expect(nodeType({ initial_structure: { childern: [] } })).toBe(
      unknown('node_type.initial_structure.childern', "did you mean 'children'?"),
    );
    const child = { name: 'c', node_type: 'svc:Folder', propertys: {} };
    for (const [structure, at] of [
      [{ children: [child] }, 'children.0'],
      [[child], '0'],
      [[['c', 'svc:Folder', { propertys: {} }]], '0'],
      [{ children: [{ name: 'b', node_type: 'svc:Folder', children: [child] }] }, 'children.0.children.0'],
    ] as const) {
      expect(nodeType({ initial_structure: structure })).toBe(
        unknown(`node_type.initial_structure.${at}.propertys`, "did you mean 'properties'?"),
      );
    }
  });

  it('is refused as a property, at any depth', () => {
    expect(property({ requierd: true })).toBe(
      unknown('node_type.properties.0.requierd', "did you mean 'required'?"),
    );
    expect(property({ structure: { a: { type: 'String', uniqe: true } } })).toBe(
      unknown('node_type.properties.0.structure.a.uniqe', "did you mean 'unique'?"),
    );
    expect(property({ type: 'Array', items: { type: 'String', requred: true } })).toBe(
      unknown('node_type.properties.0.items.requred', "did you mean 'required'?"),
    );
    for (const value of [1, null]) {
      expect(property({ constraints: { maxLenght: value } })).toBe(
        unknown('node_type.properties.0.constraints.maxLenght', "did you mean 'maxLength'?"),
      );
    }
  });

  it('is refused as an archetype and an element type, with their fields', () => {
    const fields = [{ $type: 'TextField', name: 'a', max_lenght: 3 }];
    expect(refusal(() => parseArchetypeDefinition({ name: 'a:B', base_type: 'svc:Page' }))).toBe(
      unknown('archetype.base_type', "did you mean 'base_node_type'?"),
    );
    expect(refusal(() => parseArchetypeDefinition({ name: 'a:B', fields }))).toBe(
      unknown('archetype.fields.0.max_lenght', "did you mean 'max_length'?"),
    );
    expect(refusal(() => parseElementTypeDefinition({ name: 'a:B', base_node_type: 'svc:Page' }))).toContain(
      "Unknown field 'element_type.base_node_type'; known are id, name,",
    );
    const nested = [{ $type: 'CompositeField', name: 'c', fields }];
    expect(refusal(() => parseElementTypeDefinition({ name: 'a:B', fields: nested }))).toBe(
      unknown('element_type.fields.0.fields.0.max_lenght', "did you mean 'max_length'?"),
    );
  });

  it('is refused as a workspace and its settings', () => {
    expect(workspace({ depend_on: [] })).toBe(unknown('depend_on', "did you mean 'depends_on'?"));
    expect(workspace({ config: { defaultBranch: 'main' } })).toBe(
      unknown('config.defaultBranch', "did you mean 'default_branch'?"),
    );
    expect(refusal(() => parseWorkspaceConfig({ node_type_pin: {} }))).toBe(
      unknown('node_type_pin', "did you mean 'node_type_pins'?"),
    );
  });

  it('is refused as the languages of a repository', () => {
    const current = newLanguageSettings('en', ['en', 'de']);
    expect(refusal(() => patchLanguageSettings({ fallback_chains: {} }, current))).toBe(
      unknown('fallback_chains', "did you mean 'locale_fallback_chains'?"),
    );
  });

  it('is refused for what is missing first [HTTP-003]', () => {
    expect(refusal(() => parseNodeTypeDefinition({ nmae: 'site:Page' }))).toBe(
      'UNPROCESSABLE_BODY node_type.name: missing field `name`',
    );
    expect(workspace({ allowed_node_types: null, foo: 1 })).toContain('UNPROCESSABLE_BODY');
  });

  it('is refused with one name when it has very many', () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`unknown${index}`, 1]));
    expect(nodeType(many)).toContain("Unknown field 'node_type.unknown0'; known are id, name,");
  });
});

const samples = {
  string: 'DateTime',
  boolean: true,
  number: 1,
  count: 1,
  strings: ['a'],
  list: ['a'],
} as const;

/** A field with everything its kind may have. */
function fullField(type: FieldType): object {
  const settings = Object.entries(fieldSettings[type]).map(([key, reading]) => [
    key,
    key === 'render_as' ? 'Radio' : samples[reading],
  ]);
  return {
    $type: type,
    name: type,
    title: 't',
    label: 'l',
    required: true,
    description: 'd',
    help_text: 'h',
    default_value: null,
    validations: [],
    is_hidden: false,
    multiple: false,
    design_value: null,
    translatable: true,
    meta: {},
    config: Object.fromEntries(settings),
    ...(type === 'ElementField' ? { element_type: 'a:B' } : {}),
    ...(type === 'SectionField' ? { allowed_element_types: ['a:B'], render_as: 'list' } : {}),
    ...(type === 'CompositeField' ? { fields: [{ $type: 'TextField', name: 'x' }], layout: {} } : {}),
  };
}

describe('a definition that was read', () => {
  it('is taken as a node type with everything it can have', () => {
    const definition = parseNodeTypeDefinition({
      name: 'site:Page',
      id: 'x',
      meta: {},
      index_types: ['Fulltext'],
      compound_indexes: [{ name: 'i', columns: [{ property: 'p' }], has_order_column: true }],
      initial_structure: {
        properties: { p: 1 },
        children: [{ name: 'c', node_type: 'svc:Folder', archetype: 'a:B', translations: {}, children: [] }],
      },
      properties: [
        {
          name: 'p',
          property_type: 'object',
          required: false,
          unique: false,
          default: {},
          constraints: { min: 1 },
          structure: { a: { type: 'Array', items: { type: 'String' }, index: ['Property'] } },
          allow_additional_properties: false,
          is_translatable: true,
          meta: { label: 'P' },
        },
      ],
    });
    const stored = publishedSchemaRecord(newSchemaRecord(definition, 'x', now), now, 'me');
    expect(parseNodeTypeDefinition(JSON.parse(JSON.stringify(stored)))).toEqual(definition);
  });

  it.each(fieldTypes)('is taken with a %s that has everything', (type) => {
    const definition = parseArchetypeDefinition({ name: 'a:B', fields: [fullField(type)], meta: {} });
    const stored = publishedSchemaRecord(newSchemaRecord(definition, 'x', now), now, 'me');
    expect(parseArchetypeDefinition(JSON.parse(JSON.stringify(stored)))).toEqual({ ...definition, id: 'x' });
  });

  it('is taken as an element type', () => {
    const definition = parseElementTypeDefinition({ name: 'a:B', layout: [], initial_content: {} });
    const stored = newSchemaRecord(definition, 'x', now);
    expect(parseElementTypeDefinition(JSON.parse(JSON.stringify(stored)))).toEqual({
      ...definition,
      id: 'x',
    });
  });

  it('is taken as a workspace', () => {
    const stored = parseWorkspaceDefinition(
      'w',
      { allowed_node_types: [], allowed_root_node_types: ['svc:Page'], config: { node_type_refs: {} } },
      null,
      now,
    );
    expect(parseWorkspaceDefinition('w', JSON.parse(JSON.stringify(stored)), stored, now)).toEqual(stored);
  });
});
