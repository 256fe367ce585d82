import { describe, expect, it } from 'vitest';
import {
  requireAllowedInWorkspace,
  requireAllowedUnder,
} from '#runtime/content/validation/allowed-children.ts';
import {
  parseWorkspaceConfig,
  parseWorkspaceDefinition,
} from '#runtime/content/definitions/workspace-definition.ts';
import { schemaOf } from '../schema-fixture.ts';

const wrongShape = (field: string) => expect.objectContaining({ code: 'UNPROCESSABLE_BODY', field });
const lists = { allowed_node_types: ['svc:Page', 'svc:Folder'], allowed_root_node_types: ['svc:Folder'] };

describe('parseWorkspaceDefinition', () => {
  it('lists every key; the name of the path wins [WSP-005]', () => {
    expect(parseWorkspaceDefinition('blog', { name: 'other', ...lists }, null, 't1')).toEqual({
      name: 'blog',
      description: null,
      ...lists,
      depends_on: [],
      initial_structure: null,
      created_at: 't1',
      updated_at: 't1',
      config: { default_branch: 'main', node_type_pins: {} },
    });
  });

  it('keeps creation time and, when left out, the config of what it replaces', () => {
    const first = parseWorkspaceDefinition(
      'blog',
      { ...lists, config: { default_branch: 'dev' } },
      null,
      't1',
    );
    const second = parseWorkspaceDefinition('blog', lists, first, 't2');
    expect(second).toMatchObject({ created_at: 't1', updated_at: 't2', config: { default_branch: 'dev' } });
    expect(parseWorkspaceDefinition('blog', JSON.parse(JSON.stringify(second)), first, 't2')).toEqual(second);
  });

  it('needs both lists', () => {
    const parse = (json: unknown) => () => parseWorkspaceDefinition('blog', json, null, 't');
    expect(parse({})).toThrowError(wrongShape('allowed_node_types'));
    expect(parse({ allowed_node_types: [] })).toThrowError(wrongShape('allowed_root_node_types'));
    expect(parse({ ...lists, allowed_node_types: 'svc:Page' })).toThrowError(
      wrongShape('allowed_node_types'),
    );
    expect(() => parseWorkspaceDefinition('a/b', lists, null, 't')).toThrowError(
      expect.objectContaining({ code: 'VALIDATION_FAILED' }),
    );
  });
});

describe('parseWorkspaceConfig', () => {
  it('reads pins, also under their other name [WSP-019]', () => {
    const pins = { 'blog:Article': '1700000000000-0', 'blog:Note': null };
    expect(parseWorkspaceConfig({ node_type_pins: pins }).node_type_pins).toEqual(pins);
    expect(parseWorkspaceConfig({ node_type_refs: pins }).node_type_pins).toEqual(pins);
  });

  it('refuses pins that are no revisions, and bad branches', () => {
    expect(() => parseWorkspaceConfig({ node_type_pins: { a: 'x' } })).toThrowError(
      expect.objectContaining({ code: 'INVALID_REVISION_NUMBER' }),
    );
    expect(() => parseWorkspaceConfig({ node_type_pins: { a: 1 } })).toThrowError(
      wrongShape('node_type_pins.a'),
    );
    const large = { node_type_pins: { a: 12_345_678_901_234_567_890n } };
    expect(() => parseWorkspaceConfig(large)).toThrowError(
      expect.objectContaining({ message: expect.stringContaining('found a number') }),
    );
    expect(() => parseWorkspaceConfig({ default_branch: 'a b' })).toThrowError(
      expect.objectContaining({ code: 'INVALID_BRANCH_NAME' }),
    );
  });
});

describe('what may be created where', () => {
  const workspace = (types: string[], rootTypes: string[]) => ({
    name: 'blog',
    allowed_node_types: types,
    allowed_root_node_types: rootTypes,
  });

  it('a workspace restricts types, at its root by both lists [WSP-015]', () => {
    const blog = workspace(['svc:Page'], ['svc:Page', 'svc:Folder']);
    expect(() => requireAllowedInWorkspace(blog, 'svc:Page', true)).not.toThrow();
    expect(() => requireAllowedInWorkspace(blog, 'svc:Folder', true)).toThrowError(
      "Workspace 'blog' does not allow nodes of type 'svc:Folder'",
    );
    expect(() =>
      requireAllowedInWorkspace(workspace(['svc:Page'], ['svc:Folder']), 'svc:Page', true),
    ).toThrowError("Workspace 'blog' does not allow root nodes of type 'svc:Page'");
    expect(() =>
      requireAllowedInWorkspace(workspace(['svc:Page'], ['svc:Folder']), 'svc:Page', false),
    ).not.toThrow();
  });

  it('an empty list and * allow every type [WSP-013, WSP-014]', () => {
    expect(() => requireAllowedInWorkspace(workspace([], ['*']), 'any:Type', true)).not.toThrow();
  });

  it('a parent type restricts its children by its resolved list [VAL-013]', () => {
    const { resolved } = schemaOf({
      nodeTypes: [
        { name: 't:Base', allowed_children: ['t:One'] },
        { name: 't:Sub', extends: 't:Base', allowed_children: ['t:Two'] },
        { name: 't:Open' },
      ],
    });
    const sub = resolved.nodeType('t:Sub')!;
    expect(() => requireAllowedUnder(sub, 't:One')).not.toThrow();
    expect(() => requireAllowedUnder(sub, 't:Two')).not.toThrow();
    expect(() => requireAllowedUnder(sub, 't:Three')).toThrowError(
      expect.objectContaining({
        code: 'VALIDATION_FAILED',
        message: "NodeType 't:Three' is not allowed as a child of NodeType 't:Sub'",
      }),
    );
    expect(() => requireAllowedUnder(resolved.nodeType('t:Open')!, 't:Three')).not.toThrow();
  });
});
