import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DefinitionKind } from '#actors/branch/messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { callerWith } from '#test/support/branch-fixture.ts';
import { type ChangeRequest, SqlGarden } from '#test/support/sql-garden.ts';

let garden: SqlGarden;

beforeAll(async () => {
  garden = await SqlGarden.open();
});
afterAll(async () => {
  expect(await garden.branch.inspect(findDamage)).toEqual([]);
  await garden.close();
});

const run = (sql: string, request?: ChangeRequest) => garden.run(sql, request);
const rows = (sql: string) => garden.rows(sql);
const definition = async (kind: DefinitionKind, name: string): Promise<JsonObject> =>
  (await garden.branch.query({ type: 'ReadDefinition', kind, name })) as JsonObject;
const property = async (type: string, name: string): Promise<JsonObject | undefined> =>
  ((await definition('node_type', type)).properties as JsonObject[]).find((each) => each.name === name);
const message = (text: string) => expect.objectContaining({ message: expect.stringContaining(text) });

describe('the examples', () => {
  it('create a type, validate a node of it, and refuse a node type as mixin [SQLEX-089, SQLEX-090, SQLEX-091]', async () => {
    const sql =
      "CREATE NODETYPE 'grow:Tool' (PROPERTIES (title String REQUIRED FULLTEXT, weight Number DEFAULT 1) PUBLISHABLE)";
    const created = await run(sql);
    expect(created.rows).toEqual([{ result: "NodeType 'grow:Tool' created", success: true }]);
    expect(created.columns).toEqual(['result', 'success']);
    expect(await garden.message(created.revision)).toBe('Create node type grow:Tool');
    await expect(
      rows("INSERT INTO 'g' (path, node_type, properties) VALUES ('/sheds/axe', 'grow:Tool', '{}')"),
    ).rejects.toMatchObject({ code: 'VALIDATION_FAILED', message: expect.stringContaining('title') });
    await expect(rows("ALTER MIXIN 'grow:Bed' SET ICON = 'x'")).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: "'grow:Bed' is not a mixin, use ALTER NODETYPE instead",
    });
  });

  it('apply the default of a property on INSERT', async () => {
    await rows(
      `INSERT INTO 'g' (path, node_type, properties) VALUES ('/sheds/axe', 'grow:Tool', '{"title":"Axe"}')`,
    );
    expect((await garden.read('g', '/sheds/axe')).properties).toMatchObject({ title: 'Axe', weight: 1 });
  });
});

describe('CREATE', () => {
  it('writes a definition with all clauses, in any order [SQL-019]', async () => {
    await rows("CREATE MIXIN 'grow:Tagged' DESCRIPTION 'tags' PROPERTIES (tags Array OF String)");
    await rows(`CREATE NODETYPE 'grow:Full' STRICT AUDITABLE VERSIONABLE INDEXABLE
      COMPOUND_INDEX 'byArea' ON (area DESC, __updated_at, open ASC, due) ICON "leaf" DESCRIPTION $$all of it$$
      PROPERTIES (
        area Number UNIQUE PROPERTY_INDEX ORDER 3 LABEL 'Area' DESCRIPTION 'in m2',
        open boolean DEFAULT FALSE,
        due Date,
        body String FULLTEXT VECTOR TRANSLATABLE,
        soil Object { kind String REQUIRED, depth Object { cm Number } } ALLOW_ADDITIONAL_PROPERTIES,
        'soil.ph' Number DEFAULT -1.5,
        lists Array OF Array OF Object { n Number, },
        place Geometry DEFAULT '{"type":"Point","coordinates":[8,47]}',
        parts Array OF String DEFAULT ARRAY['a', 'b'],
        many Number DEFAULT 12345678901234567,
      )
      REQUIRED_NODES ('r') ALLOWED_CHILDREN ('grow:Plant', 'svc:Folder') MIXINS ('grow:Tagged') EXTENDS 'svc:Folder'`);
    expect(await definition('node_type', 'grow:Full')).toMatchObject({
      name: 'grow:Full',
      is_mixin: false,
      extends: 'svc:Folder',
      mixins: ['grow:Tagged'],
      strict: true,
      auditable: true,
      versionable: true,
      indexable: true,
      publishable: null,
      icon: 'leaf',
      description: 'all of it',
      allowed_children: ['grow:Plant', 'svc:Folder'],
      required_nodes: ['r'],
      version: 1,
      compound_indexes: [
        {
          name: 'byArea',
          has_order_column: false,
          columns: [
            { property: 'area', ascending: false, column_type: 'Integer' },
            { property: '__updated_at', ascending: true, column_type: 'Timestamp' },
            { property: 'open', ascending: true, column_type: 'Boolean' },
            { property: 'due', ascending: true, column_type: 'Timestamp' },
          ],
        },
      ],
      properties: [
        {
          name: 'area',
          type: 'Number',
          unique: true,
          index: ['Property'],
          meta: { label: 'Area', description: 'in m2', order: 3 },
        },
        { name: 'open', type: 'Boolean', default: false },
        { name: 'due', type: 'Date' },
        { name: 'body', type: 'String', index: ['Fulltext', 'Vector'], is_translatable: true },
        {
          name: 'soil',
          type: 'Object',
          allow_additional_properties: true,
          structure: {
            kind: { name: 'kind', type: 'String', required: true },
            depth: { type: 'Object', structure: { cm: { type: 'Number' } } },
            ph: { type: 'Number', default: -1.5 },
          },
        },
        {
          name: 'lists',
          type: 'Array',
          items: { type: 'Array', items: { type: 'Object', structure: { n: { type: 'Number' } } } },
        },
        { name: 'place', type: 'Geometry', default: { type: 'Point', coordinates: [8, 47] } },
        { name: 'parts', type: 'Array', items: { type: 'String' }, default: ['a', 'b'] },
        { name: 'many', type: 'Number', default: 12345678901234567n },
      ],
    });
    expect(await definition('mixin', 'grow:Tagged')).toMatchObject({ is_mixin: true, description: 'tags' });
  });

  it('leaves a type that is made of others indexed as they are', async () => {
    await rows("CREATE NODETYPE 'grow:Plain'");
    expect(await definition('node_type', 'grow:Plain')).toMatchObject({ indexable: true, strict: null });
    await rows("CREATE NODETYPE 'grow:Child' EXTENDS 'grow:Plain'");
    expect(await definition('node_type', 'grow:Child')).toMatchObject({ indexable: null });
  });

  it('writes fields of archetypes and element types [SQL-019]', async () => {
    expect(
      await rows(`CREATE ARCHETYPE 'grow:kitchen' BASE_NODE_TYPE 'grow:Bed' TITLE 'Kitchen' PUBLISHABLE FIELDS (
        title String REQUIRED TRANSLATABLE LABEL 'Title' DESCRIPTION 'shown' DEFAULT 'Kitchen' ORDER 1,
        links Array OF URL DEFAULT '["a"]', hero Resource, parts Array OF Element, day Date, data Object,
        nested Object { a Number DEFAULT 2, b Array OF Object { c Boolean } }, place Geometry, other Composite)`),
    ).toEqual([{ result: "Archetype 'grow:kitchen' created", success: true }]);
    expect(await definition('archetype', 'grow:kitchen')).toMatchObject({
      base_node_type: 'grow:Bed',
      title: 'Kitchen',
      publishable: true,
      fields: [
        {
          $type: 'TextField',
          name: 'title',
          required: true,
          translatable: true,
          label: 'Title',
          description: 'shown',
          default_value: 'Kitchen',
          meta: { order: 1 },
        },
        { $type: 'TextField', name: 'links', multiple: true, default_value: ['a'] },
        { $type: 'MediaField', name: 'hero' },
        { $type: 'SectionField', name: 'parts', allowed_element_types: [] },
        { $type: 'DateField', name: 'day' },
        { $type: 'JsonObjectField', name: 'data' },
        {
          $type: 'CompositeField',
          name: 'nested',
          fields: [
            { $type: 'NumberField', name: 'a', default_value: 2 },
            {
              $type: 'CompositeField',
              name: 'b',
              multiple: true,
              fields: [{ $type: 'BooleanField', name: 'c' }],
            },
          ],
        },
        { $type: 'LocationField', name: 'place' },
        { $type: 'CompositeField', name: 'other', fields: [] },
      ],
    });
    expect(await rows("CREATE ELEMENTTYPE 'grow:Quote' ICON 'q' FIELDS (text String)")).toEqual([
      { result: "ElementType 'grow:Quote' created", success: true },
    ]);
    expect(await definition('element_type', 'grow:Quote')).toMatchObject({
      icon: 'q',
      fields: [{ $type: 'TextField', name: 'text' }],
    });
  });

  it.each([
    ["CREATE NODETYPE 'grow:Bed'", "NodeType 'grow:Bed' already exists"],
    ["CREATE MIXIN 'grow:Bed'", "NodeType 'grow:Bed' already exists"],
    ["CREATE NODETYPE 'svc:Folder'", "NodeType 'svc:Folder' already exists"],
    ["CREATE ARCHETYPE 'grow:kitchen'", "Archetype 'grow:kitchen' already exists"],
    ["CREATE ELEMENTTYPE 'grow:Quote'", "ElementType 'grow:Quote' already exists"],
    ["CREATE NODETYPE 'grow:Tagged'", "Mixin 'grow:Tagged' already exists"],
  ])('does not replace: %s', async (sql, text) => {
    await expect(rows(sql)).rejects.toMatchObject({ code: 'ALREADY_EXISTS', message: text });
  });

  it.each([
    ["CREATE NODETYPE 'tool'", 'is not a node type name'],
    ["CREATE MIXIN 'grow:tool'", 'is not a node type name'],
    ["CREATE NODETYPE ''", 'is not a node type name'],
    ["CREATE ARCHETYPE 'a b'", 'is not a name'],
    ["CREATE ARCHETYPE 'published'", 'cannot be a name'],
    ["CREATE NODETYPE 'x:Y' EXTENDS 'x:None'", 'x:None'],
    ["CREATE NODETYPE 'x:Y' PROPERTIES (a Strin)", "Unknown property type 'Strin'; known are String, Number"],
    ["CREATE NODETYPE 'x:Y' PROPERTIES (a String, a Number)", "Property 'a' exists already (line 1, column"],
    ["CREATE NODETYPE 'x:Y' PROPERTIES (a String, 'a.b' Number)", "Property 'a' cannot have properties"],
    ["CREATE NODETYPE 'x:Y' PROPERTIES (a Object { b String, b URL })", "Property 'b' exists already"],
    ["CREATE NODETYPE 'x:Y' PROPERTIES (a Number DEFAULT 'x')", 'the default does not fit'],
    ["CREATE NODETYPE 'x:Y' PROPERTIES (a Number DEFAULT 1 + 1)", 'DEFAULT takes a string, number'],
    ["CREATE NODETYPE 'x:Y' PROPERTIES (a Array DEFAULT 'x')", 'Invalid JSON literal: x'],
    ["CREATE NODETYPE 'x:Y' PROPERTIES (a Number DEFAULT '1'::int)", 'DEFAULT takes a string, number'],
    ["CREATE NODETYPE 'x:Y' PROPERTIES (a String LABEL $1)", 'Parameter $1 not provided'],
    ["CREATE ARCHETYPE 'x' FIELDS (a String UNIQUE)", 'UNIQUE is for properties of node types'],
    ["CREATE ARCHETYPE 'x' FIELDS (a String PROPERTY_INDEX)", 'PROPERTY_INDEX is for properties'],
    [
      "CREATE ARCHETYPE 'x' FIELDS (a Object ALLOW_ADDITIONAL_PROPERTIES)",
      'ALLOW_ADDITIONAL_PROPERTIES is for properties',
    ],
    ["CREATE ARCHETYPE 'x' FIELDS (a Element)", 'needs an element type'],
    ["CREATE ARCHETYPE 'x' FIELDS (a Array)", 'needs the type of its items'],
    ["CREATE ARCHETYPE 'x' FIELDS (a Array OF Array OF String)", 'cannot be an array of arrays'],
    ["CREATE ARCHETYPE 'x' FIELDS (a Thing)", "Unknown field type 'Thing'; known are string, number"],
    ["CREATE ARCHETYPE 'x' FIELDS (a Number DEFAULT 'x')", 'the default does not fit'],
    ["CREATE ARCHETYPE 'x' BASE_NODE_TYPE 'nothing'", 'is not a node type name'],
  ])('refuses %s', async (sql, text) => {
    await expect(rows(sql)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining(text),
    });
  });

  it('bounds paths and names', async () => {
    const path = (names: number) => `'${'a.'.repeat(names - 1)}a'`;
    for (const names of [17, 100_000]) {
      await expect(rows(`CREATE NODETYPE 'x:Y' PROPERTIES (${path(names)} String)`)).rejects.toEqual(
        message('A path has at most 16 names'),
      );
    }
    const nested = (levels: number) => `${'Object { a '.repeat(levels)}String${' }'.repeat(levels)}`;
    await expect(rows(`CREATE NODETYPE 'x:Y' PROPERTIES (a ${nested(17)})`)).rejects.toEqual(
      message('property schemas nest at most 16 levels'),
    );
    await rows(`CREATE NODETYPE 'x:Y' PROPERTIES (${path(16)} String, b ${nested(15)})`);
    await expect(rows(`ALTER NODETYPE '${'a'.repeat(5_000)}' SET ICON = 'x'`)).rejects.toMatchObject({
      code: 'NODE_TYPE_NOT_FOUND',
    });
    await expect(rows(`CREATE NODETYPE 'x:${'A'.repeat(5_000)}'`)).rejects.toEqual(
      message('is not a node type name'),
    );
  });

  it('takes parameters where it takes texts', async () => {
    await run('CREATE NODETYPE $1 (DESCRIPTION $2 PROPERTIES (a Object DEFAULT $3))', {
      parameters: ['grow:Given', "it's", { b: 1 }],
    });
    expect(await definition('node_type', 'grow:Given')).toMatchObject({
      description: "it's",
      properties: [{ name: 'a', type: 'Object', default: { b: 1 } }],
    });
  });
});

describe('ALTER', () => {
  const constrained = {
    name: 'grow:Altered',
    description: 'before',
    initial_structure: { children: [{ name: 'c', node_type: 'svc:Folder' }] },
    overrides: null,
    meta: { team: 'g' },
    immutable: false,
    publishable: true,
    properties: [
      {
        name: 'size',
        type: 'Number',
        constraints: { min: 1 },
        required: true,
        meta: { unit: 'm', label: 'Size' },
      },
      { name: 'kind', type: 'String', constraints: { enum: ['a', 'b'] }, value: 'a' },
      { name: 'list', type: 'Array', items: { type: 'String', constraints: { maxLength: 3 } } },
      {
        name: 'box',
        type: 'Object',
        allow_additional_properties: false,
        structure: { w: { type: 'Number', constraints: { min: 0 } }, h: { type: 'Number' } },
      },
    ],
  };

  it('changes what it says, and keeps what the dialect cannot say [SQL-019]', async () => {
    await garden.branch.command({ type: 'PutDefinition', kind: 'node_type', definition: constrained });
    const before = await definition('node_type', 'grow:Altered');
    const altered = await run(`ALTER NODETYPE 'grow:Altered'
      SET DESCRIPTION = 'after' SET ICON = 'i' SET STRICT = TRUE SET PUBLISHABLE = FALSE SET EXTENDS = 'svc:Folder'
      SET ALLOWED_CHILDREN = ('grow:Plant') SET REQUIRED_NODES = ('x')
      ADD PROPERTY added String DEFAULT 'q' ADD PROPERTY 'box.d' Number
      MODIFY PROPERTY size Number FULLTEXT DROP PROPERTY 'box.h' MODIFY PROPERTY list Array OF String UNIQUE
      ADD MIXIN 'grow:Tagged'`);
    expect(altered.rows).toEqual([{ result: "NodeType 'grow:Altered' altered", success: true }]);
    expect(await garden.message(altered.revision)).toBe('Update node type grow:Altered');
    const after = await definition('node_type', 'grow:Altered');
    expect(after).toMatchObject({
      id: before.id,
      version: 2,
      created_at: before.created_at,
      description: 'after',
      icon: 'i',
      strict: true,
      publishable: false,
      immutable: false,
      extends: 'svc:Folder',
      mixins: ['grow:Tagged'],
      allowed_children: ['grow:Plant'],
      required_nodes: ['x'],
      meta: { team: 'g' },
      initial_structure: before.initial_structure,
    });
    expect(after.properties).toEqual([
      { name: 'size', type: 'Number', constraints: { min: 1 }, index: ['Fulltext'], meta: { unit: 'm' } },
      { name: 'kind', type: 'String', constraints: { enum: ['a', 'b'] }, value: 'a' },
      {
        name: 'list',
        type: 'Array',
        unique: true,
        items: { name: 'list', type: 'String', constraints: { maxLength: 3 } },
      },
      {
        name: 'box',
        type: 'Object',
        allow_additional_properties: false,
        structure: {
          w: { name: 'w', type: 'Number', constraints: { min: 0 } },
          d: { name: 'd', type: 'Number' },
        },
      },
      { name: 'added', type: 'String', default: 'q' },
    ]);
    await rows(
      "ALTER NODETYPE 'grow:Altered' SET EXTENDS = NULL DROP MIXIN 'grow:Tagged' SET ALLOWED_CHILDREN = () DROP PROPERTY added",
    );
    expect(await definition('node_type', 'grow:Altered')).toMatchObject({
      extends: null,
      mixins: [],
      allowed_children: [],
      version: 3,
    });
  });

  it('writes a list of properties anew, and keeps them where there is no list', async () => {
    const box = () => property('grow:Altered', 'box');
    await rows("ALTER NODETYPE 'grow:Altered' MODIFY PROPERTY box Object REQUIRED");
    expect(await box()).toMatchObject({
      required: true,
      structure: { w: { constraints: { min: 0 } }, d: {} },
    });
    await rows("ALTER NODETYPE 'grow:Altered' MODIFY PROPERTY box Object { w Number, e String }");
    expect(await box()).toMatchObject({
      structure: {
        w: { name: 'w', type: 'Number', constraints: { min: 0 } },
        e: { name: 'e', type: 'String' },
      },
    });
    expect(Object.keys((await box())?.structure as JsonObject)).toEqual(['w', 'e']);
    await rows("ALTER NODETYPE 'grow:Altered' MODIFY PROPERTY box Array OF Object");
    expect(await box()).toEqual({ name: 'box', type: 'Array', items: { name: 'box', type: 'Object' } });
    await rows("ALTER NODETYPE 'grow:Altered' ADD PROPERTY 'box.in' Number ADD PROPERTY 'new.deep' URL");
    expect(await box()).toMatchObject({ items: { structure: { in: { type: 'Number' } } } });
    expect(await property('grow:Altered', 'new')).toMatchObject({
      type: 'Object',
      structure: { deep: { type: 'URL' } },
    });
  });

  it('keeps the kind and the settings of a field that its type stands for', async () => {
    await garden.branch.command({
      type: 'PutDefinition',
      kind: 'archetype',
      definition: {
        name: 'grow:article',
        initial_content: { a: 1 },
        layout: [{ type: 'grid' }],
        fields: [
          { $type: 'RichTextField', name: 'body', config: { max_length: 9 }, help_text: 'h', required: true },
          { $type: 'ElementField', name: 'hero', element_type: 'grow:Quote' },
          { $type: 'CompositeField', name: 'group', fields: [{ $type: 'TextField', name: 'a', label: 'A' }] },
        ],
      },
    });
    await rows(`ALTER ARCHETYPE 'grow:article' SET TITLE = 't' SET BASE_NODE_TYPE = 'grow:Bed' SET PUBLISHABLE = TRUE
      MODIFY FIELD body String LABEL 'Body' MODIFY FIELD hero Element REQUIRED ADD FIELD 'group.b' Number
      ADD FIELD day Date`);
    expect(await definition('archetype', 'grow:article')).toMatchObject({
      title: 't',
      base_node_type: 'grow:Bed',
      publishable: true,
      initial_content: { a: 1 },
      layout: [{ type: 'grid' }],
      fields: [
        { $type: 'RichTextField', name: 'body', config: { max_length: 9 }, help_text: 'h', label: 'Body' },
        { $type: 'ElementField', name: 'hero', element_type: 'grow:Quote', required: true },
        {
          $type: 'CompositeField',
          name: 'group',
          fields: [
            { $type: 'TextField', name: 'a', label: 'A' },
            { $type: 'NumberField', name: 'b' },
          ],
        },
        { $type: 'DateField', name: 'day' },
      ],
    });
    const [body] = (await definition('archetype', 'grow:article')).fields as JsonObject[];
    expect(body).not.toHaveProperty('required');
    await rows(
      "ALTER ARCHETYPE 'grow:article' MODIFY FIELD body Number SET BASE_NODE_TYPE = NULL DROP FIELD 'group.a' DROP FIELD hero",
    );
    expect(await definition('archetype', 'grow:article')).toMatchObject({
      base_node_type: null,
      fields: [
        { $type: 'NumberField', name: 'body', help_text: 'h' },
        { name: 'group', fields: [{ name: 'b' }] },
        { name: 'day' },
      ],
    });
    expect(
      await rows("ALTER ELEMENTTYPE 'grow:Quote' SET TITLE = 'Quote' ADD FIELD by String SET EXTENDS = NULL"),
    ).toEqual([{ result: "ElementType 'grow:Quote' altered", success: true }]);
    expect(await rows("ALTER MIXIN 'grow:Tagged' SET ICON = 'tag' ADD PROPERTY n Number")).toEqual([
      { result: "Mixin 'grow:Tagged' altered", success: true },
    ]);
    expect(await definition('mixin', 'grow:Tagged')).toMatchObject({ icon: 'tag', is_mixin: true });
  });

  it.each([
    ["ALTER NODETYPE 'x:None' SET ICON = 'x'", 'NODE_TYPE_NOT_FOUND', "NodeType 'x:None' not found"],
    ["ALTER MIXIN 'x:None' SET ICON = 'x'", 'NODE_TYPE_NOT_FOUND', "Mixin 'x:None' not found"],
    ["ALTER ARCHETYPE 'none' SET ICON = 'x'", 'ARCHETYPE_NOT_FOUND', "Archetype 'none' not found"],
    ["ALTER ELEMENTTYPE 'none' SET ICON = 'x'", 'ELEMENT_TYPE_NOT_FOUND', "ElementType 'none' not found"],
    ["ALTER NODETYPE 'a\0b' SET ICON = 'x'", 'NODE_TYPE_NOT_FOUND', 'not found'],
    [
      "ALTER NODETYPE 'grow:Tagged' SET ICON = 'x'",
      'VALIDATION_FAILED',
      "'grow:Tagged' is a mixin, use ALTER MIXIN instead",
    ],
    [
      "ALTER NODETYPE 'grow:Bed' ADD PROPERTY title String",
      'VALIDATION_FAILED',
      "Property 'title' exists already",
    ],
    [
      "ALTER NODETYPE 'grow:Bed' MODIFY PROPERTY nope String",
      'VALIDATION_FAILED',
      "Property 'nope' not found",
    ],
    [
      "ALTER NODETYPE 'grow:Bed' DROP PROPERTY 'title.a'",
      'VALIDATION_FAILED',
      "Property 'title' cannot have",
    ],
    ["ALTER NODETYPE 'grow:Bed' ADD MIXIN 'x:None'", 'VALIDATION_FAILED', 'x:None'],
    [
      "ALTER NODETYPE 'grow:Bed' DROP MIXIN 'x:None'",
      'VALIDATION_FAILED',
      "NodeType 'grow:Bed' does not have the mixin",
    ],
    [
      "ALTER NODETYPE 'grow:Bed' ADD MIXIN 'grow:Tagged' ADD MIXIN 'grow:Tagged'",
      'VALIDATION_FAILED',
      "NodeType 'grow:Bed' has the mixin 'grow:Tagged' already",
    ],
    ["ALTER NODETYPE 'grow:Bed' SET EXTENDS = 'grow:Bed'", 'VALIDATION_FAILED', 'grow:Bed'],
    ["ALTER NODETYPE 'svc:Page' DROP PROPERTY title", 'FORBIDDEN', ''],
    ["ALTER ARCHETYPE 'grow:article' DROP FIELD zz", 'VALIDATION_FAILED', "Field 'zz' not found"],
  ])('refuses %s', async (sql, code, text) => {
    await expect(rows(sql)).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
  });

  it('makes unique what has to become unique, or refuses it', async () => {
    await rows("CREATE NODETYPE 'grow:Seed' PROPERTIES (code String)");
    await rows(
      `INSERT INTO 'g' (path, node_type, properties) VALUES ('/s1', 'grow:Seed', '{"code":"x"}'), ('/s2', 'grow:Seed', '{"code":"x"}')`,
    );
    await expect(rows("ALTER NODETYPE 'grow:Seed' MODIFY PROPERTY code String UNIQUE")).rejects.toMatchObject(
      {
        code: 'VALIDATION_FAILED',
      },
    );
    await rows("DELETE FROM 'g' WHERE path = '/s2'");
    await rows("ALTER NODETYPE 'grow:Seed' MODIFY PROPERTY code String UNIQUE");
    await expect(
      rows(`INSERT INTO 'g' (path, node_type, properties) VALUES ('/s3', 'grow:Seed', '{"code":"x"}')`),
    ).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });
});

describe('DROP', () => {
  it('removes a definition and leaves its nodes [SQL-019, SQL-082]', async () => {
    await rows("CREATE NODETYPE 'grow:Gone'");
    await rows("INSERT INTO 'g' (path, node_type) VALUES ('/gone', 'grow:Gone')");
    const dropped = await run("DROP NODETYPE 'grow:Gone' CASCADE");
    expect(dropped.rows).toEqual([{ result: "NodeType 'grow:Gone' dropped", success: true }]);
    expect(await garden.message(dropped.revision)).toBe('Delete node type grow:Gone');
    expect(await garden.read('g', '/gone')).toMatchObject({ node_type: 'grow:Gone' });
    await expect(definition('node_type', 'grow:Gone')).rejects.toEqual(message('not found'));
    await rows("DROP ARCHETYPE 'grow:article'");
    await rows("CREATE ELEMENTTYPE 'grow:Small'");
    expect(await rows("DROP ELEMENTTYPE 'grow:Small'")).toEqual([
      { result: "ElementType 'grow:Small' dropped", success: true },
    ]);
  });

  it('needs a definition, unless IF EXISTS stands there [SQL-082]', async () => {
    await expect(rows("DROP NODETYPE 'grow:Gone'")).rejects.toMatchObject({
      code: 'NODE_TYPE_NOT_FOUND',
      message: "NodeType 'grow:Gone' not found",
    });
    const done = await run("DROP NODETYPE IF EXISTS 'grow:Gone'");
    expect(done).toMatchObject({
      revision: null,
      rows: [{ result: "NodeType 'grow:Gone' does not exist", success: true }],
    });
  });

  it.each([
    ["DROP NODETYPE 'svc:Asset'", 'FORBIDDEN', 'cannot be deleted'],
    ["DROP MIXIN 'grow:Bed'", 'VALIDATION_FAILED', "'grow:Bed' is not a mixin, use DROP NODETYPE instead"],
    ["DROP MIXIN IF EXISTS 'grow:Bed'", 'VALIDATION_FAILED', 'is not a mixin'],
    ["DROP NODETYPE 'grow:Tagged'", 'VALIDATION_FAILED', "'grow:Tagged' is a mixin, use DROP MIXIN instead"],
    ["DROP NODETYPE ''", 'NODE_TYPE_NOT_FOUND', "NodeType '' not found"],
  ])('refuses %s', async (sql, code, text) => {
    await expect(rows(sql)).rejects.toMatchObject({ code, message: expect.stringContaining(text) });
  });

  it('refuses a parent of types that have nodes, CASCADE or not', async () => {
    await rows("CREATE NODETYPE 'grow:Base'");
    await rows("CREATE NODETYPE 'grow:Derived' EXTENDS 'grow:Base'");
    await rows("INSERT INTO 'g' (path, node_type) VALUES ('/derived', 'grow:Derived')");
    await expect(rows("DROP NODETYPE 'grow:Base' CASCADE")).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining("'grow:Derived'"),
    });
  });
});

describe('a transaction', () => {
  const changesOf = async (revision: string | null): Promise<unknown> => {
    const record = await garden.branch.query({
      type: 'ReadRevision',
      revision: parseRevision(revision as string),
    });
    return (record as JsonObject).changed_node_types;
  };

  it('defines types and writes their nodes in one revision [SQL-083]', async () => {
    const done = await run(
      `CREATE MIXIN 'grow:Sized' PROPERTIES (size Number REQUIRED);
      CREATE NODETYPE 'grow:Pot' MIXINS ('grow:Sized');
      INSERT INTO 'g' (path, node_type, properties) VALUES ('/pot', 'grow:Pot', '{"size":3}');
      ALTER MIXIN 'grow:Sized' ADD PROPERTY colour String DEFAULT 'red';
      INSERT INTO 'g' (path, node_type, properties) VALUES ('/pot2', 'grow:Pot', '{"size":4}');
      SELECT properties->>'colour' AS c FROM 'g' WHERE node_type = 'grow:Pot' ORDER BY path`,
      { isTransaction: true },
    );
    expect(done.rows).toEqual([{ c: null }, { c: 'red' }]);
    expect(await changesOf(done.revision)).toEqual([
      { name: 'grow:Sized', operation: 'added' },
      { name: 'grow:Pot', operation: 'added' },
    ]);
    expect(await definition('mixin', 'grow:Sized')).toMatchObject({ version: 2 });
  });

  it('leaves nothing when one of its statements fails [SQL-083]', async () => {
    await expect(
      run(
        "CREATE NODETYPE 'grow:Half'; ALTER NODETYPE 'grow:Pot' SET ICON = 'x'; DROP NODETYPE 'grow:None'",
        {
          isTransaction: true,
        },
      ),
    ).rejects.toMatchObject({ code: 'NODE_TYPE_NOT_FOUND' });
    await expect(definition('node_type', 'grow:Half')).rejects.toEqual(message('not found'));
    expect(await definition('node_type', 'grow:Pot')).toMatchObject({ icon: null, version: 1 });
  });

  it('that is only tried leaves nothing', async () => {
    const tried = await run(
      "CREATE NODETYPE 'grow:Tried'; INSERT INTO 'g' (path, node_type) VALUES ('/t', 'grow:Tried')",
      {
        isTransaction: true,
        dryRun: true,
      },
    );
    expect(tried).toMatchObject({ revision: null, rows: [{ affected_rows: 1 }] });
    await expect(definition('node_type', 'grow:Tried')).rejects.toEqual(message('not found'));
    await expect(rows("INSERT INTO 'g' (path, node_type) VALUES ('/t', 'grow:Tried')")).rejects.toMatchObject(
      {
        code: 'VALIDATION_FAILED',
      },
    );
  });

  it('reads the schema and finds nodes by the indexes that it has made', async () => {
    const schema = await run(
      `CREATE NODETYPE 'grow:Jar' ICON 'j' PROPERTIES (size Number);
      SELECT icon, version FROM NodeTypes WHERE name = 'grow:Jar'`,
      { isTransaction: true },
    );
    expect(schema.rows).toEqual([{ icon: 'j', version: 1 }]);
    const found = await run(
      `INSERT INTO 'g' (path, node_type, properties) VALUES ('/jar1', 'grow:Jar', '{"size":1}'), ('/jar2', 'grow:Jar', '{"size":2}');
      ALTER NODETYPE 'grow:Jar' MODIFY PROPERTY size Number PROPERTY_INDEX UNIQUE;
      UPDATE 'g' SET properties = properties || '{"size":3}' WHERE path = '/jar1';
      INSERT INTO 'g' (path, node_type, properties) VALUES ('/jar3', 'grow:Jar', '{"size":1}');
      SELECT path FROM 'g' WHERE node_type = 'grow:Jar' AND properties->'size' = '1'::jsonb`,
      { isTransaction: true },
    );
    expect(found.rows).toEqual([{ path: '/jar3' }]);
    const still = await garden.branch.command({
      type: 'UpdateNode',
      workspace: 'g',
      place: { path: '/jar2' },
      properties: { size: 5 },
    });
    expect(still).toBeDefined();
  });

  it('counts its statements as work of the request', async () => {
    const sql = "DROP MIXIN IF EXISTS 'x:None';".repeat(6_001);
    await expect(run(sql, { isTransaction: true })).rejects.toMatchObject({ code: 'REQUEST_TOO_EXPENSIVE' });
  });

  it('reports a definition once', async () => {
    const twice = await run(
      "ALTER NODETYPE 'grow:Pot' SET ICON = 'a'; ALTER NODETYPE 'grow:Pot' SET ICON = 'b'",
      {
        isTransaction: true,
      },
    );
    expect(await changesOf(twice.revision)).toEqual([{ name: 'grow:Pot', operation: 'modified' }]);
    const replaced = await run("CREATE NODETYPE 'grow:Brief'; DROP NODETYPE 'grow:Brief'", {
      isTransaction: true,
    });
    expect(await changesOf(replaced.revision)).toEqual([{ name: 'grow:Brief', operation: 'deleted' }]);
    await rows("CREATE NODETYPE 'grow:Brief'");
    const again = await run("DROP NODETYPE 'grow:Brief'; CREATE NODETYPE 'grow:Brief' ICON 'n'", {
      isTransaction: true,
    });
    expect(await changesOf(again.revision)).toEqual([{ name: 'grow:Brief', operation: 'modified' }]);
    expect(await definition('node_type', 'grow:Brief')).toMatchObject({ icon: 'n', version: 1 });
  });
});

describe('access', () => {
  const nobody = callerWith(() => true);

  it.each([
    "CREATE NODETYPE 'x:Y'",
    "CREATE NODETYPE 'grow:Bed'",
    "ALTER NODETYPE 'grow:Bed' SET ICON = 'x'",
    "ALTER NODETYPE 'x:None' SET ICON = 'x'",
    "DROP ARCHETYPE IF EXISTS 'x'",
    "DROP MIXIN 'grow:Tagged'",
  ])('is that of an administrator, whatever there is: %s [SQL-084]', async (sql) => {
    await expect(run(sql, { caller: nobody })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'Only an administrator of the tenant may do this',
    });
  });
});
