import { describe, expect, it } from 'vitest';
import { builtInNodeTypes } from '#runtime/content/built-in/node-types.ts';
import { isShipped, missingParts } from '#runtime/content/built-in/shipped-parts.ts';
import type { NodeType } from '#runtime/content/definitions/node-type.ts';
import { schemaOf } from '../schema-fixture.ts';

type Wire = Record<string, unknown> & { readonly name: string };

const definitionOf = (name: string): NodeType =>
  builtInNodeTypes.find(({ definition }) => definition.name === name)!.definition as NodeType;

/** What is missing of a shipped type that somebody replaces by another definition. */
function missing(name: string, change: (shipped: NodeType) => object, others: readonly Wire[] = []) {
  const given = { ...definitionOf(name), ...change(definitionOf(name)) };
  const rest = builtInNodeTypes.filter(({ definition }) => definition.name !== name);
  const nodeTypes = [...rest.map(({ definition }) => definition), ...others, given];
  return missingParts(name, schemaOf({ nodeTypes }).resolved);
}

/** The properties of a type with one of them changed. */
const withProperty =
  (name: string, change: object) =>
  ({ properties }: NodeType) => ({
    properties: properties.map((schema) => (schema.name === name ? { ...schema, ...change } : schema)),
  });

describe('a shipped type [BUILT-017]', () => {
  it('has all its parts as it is shipped', () => {
    for (const { definition } of builtInNodeTypes) {
      expect([definition.name, missing(definition.name, () => ({}))]).toEqual([definition.name, []]);
      expect(isShipped(definition.name)).toBe(true);
    }
    expect(isShipped('site:Page')).toBe(false);
  });

  it.each<[string, string, (shipped: NodeType) => object, string]>([
    ['svc:Page', 'all properties', () => ({ properties: [] }), "property 'title' is missing"],
    [
      'svc:Page',
      'a type',
      withProperty('title', { type: 'Number' }),
      "property 'title' is not of type String",
    ],
    [
      'svc:Page',
      'a required property',
      withProperty('title', { required: false }),
      "'title' is not required",
    ],
    [
      'svc:Page',
      'an optional property',
      withProperty('content', { required: true }),
      "'content' is required",
    ],
    ['svc:Page', 'free values', withProperty('content', { unique: true }), "'content' is unique"],
    ['svc:User', 'unique values', withProperty('email', { unique: false }), "'email' is not unique"],
    ['svc:Page', 'an index', withProperty('title', { index: ['Vector'] }), "'title' has no Fulltext index"],
    ['svc:User', 'a default', withProperty('status', { default: undefined }), "'status' has no default"],
    [
      'svc:Page',
      'values of every length',
      withProperty('content', { constraints: { maxLength: 3 } }),
      "'content' differs in constraints",
    ],
    [
      'svc:Role',
      'items of every kind',
      withProperty('permissions', { items: { type: 'String' } }),
      "the items of property 'permissions' is not of type Object",
    ],
    [
      'svc:StaticSiteFolder',
      'a key',
      withProperty('serving_config', { structure: {} }),
      "property 'serving_config' has no key 'frame_ancestors'",
    ],
    ['svc:Function', 'its strictness', () => ({ strict: false }), 'it is not strict'],
    ['svc:Folder', 'undeclared properties', () => ({ strict: true }), 'it is strict'],
    ['svc:Folder', 'nodes', () => ({ is_mixin: true }), 'it is a mixin'],
    ['svc:Folder', 'changes', () => ({ immutable: true }), 'it is immutable'],
    ['svc:Folder', 'its audit', () => ({ auditable: false }), 'it is not auditable'],
    ['svc:Folder', 'its publication', () => ({ publishable: false }), 'it is not publishable'],
    ['svc:Asset', 'its versions', () => ({ versionable: false }), 'it is not versionable'],
    ['svc:Folder', 'its indexes', () => ({ index_types: ['Vector'] }), 'its nodes have no Fulltext index'],
    ['svc:AclFolder', 'its parent', () => ({ extends: null }), "it does not extend 'svc:Folder'"],
    ['svc:Folder', 'children', () => ({ allowed_children: ['svc:Page'] }), 'children of every type'],
    [
      'svc:Flow',
      'children',
      () => ({ allowed_children: ['svc:Trigger'] }),
      "children of type 'svc:Function'",
    ],
    ['svc:User', 'first nodes', () => ({ initial_structure: null }), "no '/profile' of type 'svc:Profile'"],
    [
      'svc:User',
      'the type of a first node',
      ({ initial_structure: structure }) => ({
        initial_structure: {
          ...structure,
          children: structure?.children?.map((child) =>
            child.name === 'profile' ? { ...child, node_type: 'svc:Folder' } : child,
          ),
        },
      }),
      "no '/profile' of type 'svc:Profile'",
    ],
    [
      'svc:Page',
      'nodes without what is added',
      ({ properties }) => ({ properties: [...properties, { name: 'site', type: 'String', required: true }] }),
      "the added property 'site' is required",
    ],
  ])('%s may not lose %s', (name, _, change, message) => {
    expect(missing(name, change).join('; ')).toContain(message);
  });

  it('may get more', () => {
    const mixin = { name: 'site:Seo', is_mixin: true, properties: [{ name: 'seo', type: 'String' }] };
    const added = ({ properties, allowed_children: children }: NodeType) => ({
      description: 'Ours',
      icon: 'star',
      mixins: ['site:Seo'],
      properties: [...properties, { name: 'site', type: 'String', index: ['Property'] }],
      allowed_children: children.length === 0 ? [] : [...children, 'site:Page'],
    });
    for (const name of ['svc:Page', 'svc:Flow', 'svc:User', 'svc:AclFolder'])
      expect([name, missing(name, added, [mixin])]).toEqual([name, []]);
    const status = withProperty('status', { default: 'new', index: ['Property'] });
    expect(missing('svc:User', status)).toEqual([]);
    expect(missing('svc:Flow', () => ({ allowed_children: [] }))).toEqual([]);
  });

  it('is missed as a whole', () => {
    expect(missingParts('svc:Page', schemaOf({}).resolved)).toEqual(['it is missing']);
    expect(missingParts('site:Page', schemaOf({}).resolved)).toEqual([]);
  });

  it('may not get rules by what it mixes in', () => {
    const mixin = (properties: readonly object[]) => ({ name: 'site:Seo', is_mixin: true, properties });
    const mixed = () => ({ mixins: ['site:Seo'] });
    const rules = mixin([{ name: 'seo', type: 'String', required: true }]);
    expect(missing('svc:Page', mixed, [rules])).toEqual(["the added property 'seo' is required"]);
    const other = mixin([{ name: 'description', type: 'Number' }]);
    expect(missing('svc:AclFolder', mixed, [other])).toEqual([
      "property 'description' is not of type String",
      "property 'description' has no Fulltext index",
    ]);
  });
});
