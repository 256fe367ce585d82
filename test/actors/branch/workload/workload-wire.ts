import type { BranchCommand, CommitOperation } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { type Difference, WORKSPACE } from '#test/support/branch-family.ts';
import type { NodeObject } from '#test/support/branch-fixture.ts';
import {
  MODEL_ROOT,
  type ModelContent,
  type ModelEdit,
  type ModelType,
  pathOf,
  subtreeOf,
} from './content-model.ts';

const workspace = WORKSPACE;

/** The command that carries an edit out. */
export function commandOf(edit: ModelEdit, { nodes }: ModelContent): BranchCommand {
  const path = (id: string): string => pathOf(nodes, id) as string;
  const below = (id: string, name: string): string =>
    id === MODEL_ROOT ? `/${name}` : `${path(id)}/${name}`;
  if (edit.do === 'define') {
    return { type: 'PutDefinition', kind: 'node_type', definition: definitionOf(edit.name, edit.type) };
  }
  if (edit.do === 'undefine') return { type: 'DeleteDefinition', kind: 'node_type', name: edit.name };
  const { id } = edit;
  if (edit.do === 'create') {
    const { name, nodeType, parentId } = edit;
    const node = { id, name, nodeType, properties: propertiesOf(edit) };
    return {
      type: 'CreateNode',
      workspace,
      parentPath: parentId === MODEL_ROOT ? '/' : path(parentId),
      node,
      deep: false,
    };
  }
  const on = { workspace, place: { id } };
  const relation = { targetWorkspace: workspace, relationType: 'likes' };
  switch (edit.do) {
    case 'update':
      return { type: 'UpdateNode', ...on, properties: propertiesOf(edit) };
    case 'delete':
      return { type: 'DeleteNode', ...on };
    case 'move':
      return { type: 'MoveNode', ...on, targetPath: below(edit.parentId, edit.name) };
    case 'rename':
      return { type: 'RenameNode', ...on, newName: edit.name };
    case 'reorder':
      return {
        type: 'ReorderNode',
        ...on,
        targetPath: path(edit.sibling),
        position: edit.isBefore ? 'before' : 'after',
      };
    case 'publish':
      return { type: 'PublishNode', ...on, publish: edit.isPublished, tree: edit.isTree };
    case 'like':
      return { type: 'AddRelation', ...on, ...relation, targetPath: path(edit.target), weight: edit.weight };
    case 'unlike':
      return { type: 'RemoveRelation', ...on, ...relation, targetPath: path(edit.target) };
    case 'translate':
      return { type: 'TranslateNode', ...on, locale: edit.locale, translations: { '/title': edit.value } };
    case 'untranslate':
      return { type: 'ChangeLocale', ...on, locale: edit.locale, change: 'delete-translation' };
    default:
      return { type: 'ChangeLocale', ...on, locale: edit.locale, change: edit.do };
  }
}

/** The operation of a commit that carries an edit out. */
export function operationOf(edit: ModelEdit, content: ModelContent): CommitOperation {
  const command = commandOf(edit, content);
  const nodeId = 'id' in edit ? edit.id : '';
  switch (command.type) {
    case 'CreateNode':
      return { type: 'create', parentPath: command.parentPath, node: command.node };
    case 'UpdateNode':
      return { type: 'update', nodeId, properties: command.properties ?? {} };
    case 'DeleteNode':
      return { type: 'delete', nodeId };
    case 'MoveNode':
      return { type: 'move', nodeId, newPath: command.targetPath };
    case 'RenameNode':
      return { type: 'rename', nodeId, newName: command.newName };
    default:
      throw new Error(`no operation does what ${command.type} does`);
  }
}

/** The properties of a node of the model. */
export function propertiesOf({
  code,
  title,
}: {
  readonly title: string;
  readonly code: string | null;
}): JsonObject {
  return code === null ? { title } : { title, code };
}

/** The body of a node type. */
export function definitionOf(name: string, { isIndexed, isRequired, isUnique }: ModelType): JsonObject {
  const code = { name: 'code', type: 'String', unique: isUnique, required: isRequired };
  return { name, properties: [{ ...code, index: isIndexed ? ['Property'] : [] }] };
}

/** A content as reads show it: every node in tree order. */
export function treeOf({ nodes }: ModelContent): readonly unknown[] {
  return subtreeOf(nodes, MODEL_ROOT).map((node) => ({
    id: node.id,
    path: pathOf(nodes, node.id),
    order_key: node.orderKey,
    node_type: node.nodeType,
    properties: propertiesOf(node),
    isPublished: node.isPublished,
    // Those to deleted nodes stay with their source and are not shown.
    likes: Object.entries(node.likes)
      .filter(([id]) => nodes.has(id))
      .sort(),
    locales: Object.entries(node.locales)
      .map(([locale, { isHidden, value }]) => [locale, isHidden ? null : value])
      .sort(),
    has_children: [...nodes.values()].some(({ parentId }) => parentId === node.id),
  }));
}

/** What a node object shows, in the form of {@link treeOf}. */
export function seen(node: NodeObject): unknown {
  const { id, path, order_key, node_type, has_children } = node;
  // What is derived from the type is none of its content.
  const stored = Object.entries(node.properties).filter(([name]) => !name.startsWith('$'));
  const properties = Object.fromEntries(stored);
  return {
    id,
    path,
    order_key,
    node_type,
    properties,
    isPublished: node.published_at !== null,
    likes: node.relations.map(({ target, weight }) => [target, weight]).sort(),
    locales: Object.entries((node.translations ?? {}) as Record<string, JsonObject>)
      .map(([locale, values]) => [locale, values.type === 'hidden' ? null : values.title])
      .sort(),
    has_children,
  };
}

/** What a difference lists, as `[id, operation, path]`. */
export function flat(found: Difference): readonly unknown[] {
  const entries = [...found.added, ...found.modified, ...found.deleted];
  return entries.map(({ node_id, operation, path }) => [node_id, operation, path]).sort();
}
