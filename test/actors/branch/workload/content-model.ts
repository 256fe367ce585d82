import { orderKeyBetween } from '#runtime/content/order-key.ts';

/** The id the model gives the root. */
export const MODEL_ROOT = '/';

/** What a locale makes of the title of a node. */
export interface ModelOverlay {
  readonly isHidden: boolean;
  /** Null: hidden without ever having been translated. */
  readonly value: string | null;
  /** The title it was made from. */
  readonly source: string | null;
}

/** A node as the model keeps it. Its path follows from the nodes above it. */
export interface ModelNode {
  readonly id: string;
  readonly name: string;
  readonly parentId: string;
  readonly orderKey: string;
  readonly nodeType: string;
  readonly title: string;
  readonly code: string | null;
  readonly isPublished: boolean;
  /** Ids of the nodes it likes, with how much. */
  readonly likes: Readonly<Record<string, number>>;
  readonly locales: Readonly<Record<string, ModelOverlay>>;
}

/** What a node type of the model says about the property `code`. */
export interface ModelType {
  readonly isUnique: boolean;
  readonly isRequired: boolean;
  readonly isIndexed: boolean;
}

/** The whole content of a branch at one revision. */
export interface ModelContent {
  readonly nodes: ReadonlyMap<string, ModelNode>;
  readonly types: ReadonlyMap<string, ModelType>;
}

/** What a revision did to a node. */
export type ModelOperation = 'added' | 'modified' | 'deleted' | 'reordered';

/** The type every branch has. */
export const FOLDER = 'svc:Folder';

/** Writes in the terms of the model: nodes by id, places by the id of the parent. */
export type ModelEdit =
  | {
      readonly do: 'create';
      readonly id: string;
      readonly parentId: string;
      readonly name: string;
      readonly nodeType: string;
      readonly title: string;
      readonly code: string | null;
    }
  | { readonly do: 'update'; readonly id: string; readonly title: string; readonly code: string | null }
  | { readonly do: 'delete'; readonly id: string }
  | { readonly do: 'move'; readonly id: string; readonly parentId: string; readonly name: string }
  | { readonly do: 'rename'; readonly id: string; readonly name: string }
  | { readonly do: 'reorder'; readonly id: string; readonly sibling: string; readonly isBefore: boolean }
  | { readonly do: 'publish'; readonly id: string; readonly isPublished: boolean; readonly isTree: boolean }
  | { readonly do: 'translate'; readonly id: string; readonly locale: string; readonly value: string }
  | { readonly do: 'hide' | 'unhide' | 'untranslate'; readonly id: string; readonly locale: string }
  | { readonly do: 'like'; readonly id: string; readonly target: string; readonly weight: number }
  | { readonly do: 'unlike'; readonly id: string; readonly target: string }
  | { readonly do: 'define'; readonly name: string; readonly type: ModelType }
  | { readonly do: 'undefine'; readonly name: string };

/** What an edit makes: another content; `nothing` when it writes no revision; `refused` when it may not be done. */
export type Edited =
  | { readonly content: ModelContent; readonly touched: ReadonlyMap<string, ModelOperation> }
  | 'nothing'
  | 'refused';

/** The path of a node; undefined where the way up does not end at the root. */
export function pathOf(nodes: ModelContent['nodes'], id: string): string | undefined {
  const names: string[] = [];
  for (let next = id; next !== MODEL_ROOT; ) {
    const node = nodes.get(next);
    if (node === undefined || names.length > nodes.size) return undefined;
    names.unshift(node.name);
    next = node.parentId;
  }
  return `/${names.join('/')}`;
}

/** The children of a node in editorial order. */
export function childrenOf(nodes: ModelContent['nodes'], parentId: string): readonly ModelNode[] {
  const children = [...nodes.values()].filter((node) => node.parentId === parentId);
  return children.sort((a, b) => (a.orderKey < b.orderKey ? -1 : 1));
}

/** A node and all below it, in tree order; of the root everything but itself. */
export function subtreeOf(nodes: ModelContent['nodes'], id: string): readonly ModelNode[] {
  const top = nodes.get(id);
  const below = childrenOf(nodes, id).flatMap((child) => subtreeOf(nodes, child.id));
  return top === undefined ? below : [top, ...below];
}

/** Carries an edit out. The content it is given stays as it was. */
export function edited(content: ModelContent, edit: ModelEdit): Edited {
  const done = editedAlone(content, edit);
  return typeof done === 'string' || !hasTwins(done) ? done : 'refused';
}

/** As {@link edited}, of one of several edits: what has to be unique is compared after the last. */
export function editedAlone(content: ModelContent, edit: ModelEdit): Edited {
  if (edit.do === 'define' || edit.do === 'undefine') return defined(content, edit);
  if (edit.do === 'create') return created(content, edit);
  const node = content.nodes.get(edit.id);
  if (node === undefined) return 'refused';
  switch (edit.do) {
    case 'update':
      return checked(content, { ...node, title: edit.title, code: edit.code });
    case 'delete':
      return deleted(content, node);
    case 'move':
      return moved(content, node, edit.parentId, edit.name);
    case 'rename':
      return moved(content, node, node.parentId, edit.name);
    case 'reorder':
      return reordered(content, node, edit.sibling, edit.isBefore);
    case 'publish':
      return published(content, node, edit);
    case 'like':
    case 'unlike':
      return liked(content, node, edit.target, edit.do === 'like' ? edit.weight : undefined);
    default:
      return translated(content, node, edit);
  }
}

/**
 * Carries edits out in order as one revision: all or none. Unique codes are compared as the last edit leaves them. An
 * update leaves a code it does not give as it was.
 */
export function editedTogether(content: ModelContent, edits: readonly ModelEdit[]): Edited {
  let present = content;
  const touched = new Map<string, ModelOperation>();
  for (const given of edits) {
    const code = given.do === 'update' ? (given.code ?? present.nodes.get(given.id)?.code ?? null) : null;
    const done = editedAlone(present, given.do === 'update' ? { ...given, code } : given);
    if (done === 'refused') return 'refused';
    if (done === 'nothing') continue;
    present = done.content;
    for (const [id, operation] of done.touched) {
      const earlier = touched.get(id);
      if (earlier === 'added' && operation === 'deleted') touched.delete(id);
      else touched.set(id, together(earlier, operation));
    }
  }
  const all = { content: present, touched };
  if (hasTwins(all)) return 'refused';
  return touched.size === 0 ? 'nothing' : all;
}

/** Whether a node that was touched has a code that must be unique and that another node has as well. */
function hasTwins({ content: { nodes, types }, touched }: Exclude<Edited, string>): boolean {
  return [...touched.keys()].some((id) => {
    const node = nodes.get(id);
    return node !== undefined && types.get(node.nodeType)?.isUnique === true && hasTwin(nodes, node);
  });
}

/** What two operations on a node come to, one after the other. */
function together(earlier: ModelOperation | undefined, now: ModelOperation): ModelOperation {
  if (earlier === undefined || earlier === 'reordered' || now === 'deleted') return now;
  return earlier === 'deleted' ? 'modified' : earlier;
}

const TWIN = 'has the code of another node';

/** What keeps a node from being stored; undefined when nothing does. */
export function invalidity(content: ModelContent, node: ModelNode): string | undefined {
  if (node.nodeType === FOLDER) return undefined;
  const type = content.types.get(node.nodeType);
  if (type === undefined) return 'has no type';
  if (type.isRequired && node.code === null) return 'lacks its code';
  return type.isUnique && hasTwin(content.nodes, node) ? TWIN : undefined;
}

/** Whether two nodes of one type have the same code. */
export function hasTwin(nodes: ModelContent['nodes'], node: ModelNode): boolean {
  return [...nodes.values()].some(
    ({ code, id, nodeType }) =>
      id !== node.id && code !== null && code === node.code && nodeType === node.nodeType,
  );
}

function isTaken(nodes: ModelContent['nodes'], parentId: string, name: string): boolean {
  return childrenOf(nodes, parentId).some((child) => child.name === name);
}

/** The key behind the last child. */
function lastKey(nodes: ModelContent['nodes'], parentId: string): string {
  return orderKeyBetween(childrenOf(nodes, parentId).at(-1)?.orderKey ?? null, null);
}

function withNodes(
  content: ModelContent,
  changed: readonly ModelNode[],
  operation: ModelOperation = 'modified',
): Edited {
  const nodes = new Map(content.nodes);
  for (const node of changed) nodes.set(node.id, node);
  const touched = new Map(changed.map(({ id }) => [id, operation]));
  return { content: { ...content, nodes }, touched };
}

function checked(content: ModelContent, node: ModelNode, operation: ModelOperation = 'modified'): Edited {
  const why = invalidity(content, node);
  return why === undefined || why === TWIN ? withNodes(content, [node], operation) : 'refused';
}

function created(content: ModelContent, edit: ModelEdit & { readonly do: 'create' }): Edited {
  const { do: _, ...fields } = edit;
  const { nodes } = content;
  if (nodes.has(edit.id) || isTaken(nodes, edit.parentId, edit.name)) return 'refused';
  if (edit.parentId !== MODEL_ROOT && !nodes.has(edit.parentId)) return 'refused';
  const orderKey = lastKey(nodes, edit.parentId);
  return checked(content, { ...fields, orderKey, isPublished: false, likes: {}, locales: {} }, 'added');
}

function deleted(content: ModelContent, top: ModelNode): Edited {
  const doomed = subtreeOf(content.nodes, top.id);
  if (doomed.some((node) => node.isPublished)) return 'refused';
  const nodes = new Map(content.nodes);
  for (const { id } of doomed) nodes.delete(id);
  return { content: { ...content, nodes }, touched: new Map(doomed.map(({ id }) => [id, 'deleted'])) };
}

function moved(content: ModelContent, node: ModelNode, parentId: string, name: string): Edited {
  const { nodes } = content;
  if (parentId === node.parentId && name === node.name) return 'nothing';
  const subtree = subtreeOf(nodes, node.id);
  if (subtree.some(({ id, isPublished }) => isPublished || id === parentId)) return 'refused';
  if (parentId !== MODEL_ROOT && !nodes.has(parentId)) return 'refused';
  if (isTaken(nodes, parentId, name)) return 'refused';
  const orderKey = parentId === node.parentId ? node.orderKey : lastKey(nodes, parentId);
  const [, ...below] = subtree;
  return withNodes(content, [{ ...node, parentId, name, orderKey }, ...below]);
}

function reordered(content: ModelContent, node: ModelNode, sibling: string, isBefore: boolean): Edited {
  const children = childrenOf(content.nodes, node.parentId);
  const at = children.findIndex(({ id }) => id === sibling);
  if (at === -1) return 'refused';
  if (sibling === node.id) return 'nothing';
  const beyond = children[isBefore ? at - 1 : at + 1];
  if (beyond?.id === node.id) return 'nothing';
  const near = (children[at] as ModelNode).orderKey;
  const far = beyond?.orderKey ?? null;
  const orderKey = isBefore ? orderKeyBetween(far, near) : orderKeyBetween(near, far);
  return withNodes(content, [{ ...node, orderKey }], 'reordered');
}

function published(
  content: ModelContent,
  node: ModelNode,
  { isPublished, isTree }: { readonly isPublished: boolean; readonly isTree: boolean },
): Edited {
  const meant = isTree ? subtreeOf(content.nodes, node.id) : [node];
  // Publishing a published node publishes it anew; taking back what was never published does nothing.
  const changed = meant.filter((one) => isPublished || one.isPublished);
  if (changed.length === 0) return 'nothing';
  return withNodes(
    content,
    changed.map((one) => ({ ...one, isPublished })),
  );
}

function liked(content: ModelContent, node: ModelNode, target: string, weight: number | undefined): Edited {
  if (weight !== undefined && !content.nodes.has(target)) return 'refused';
  if (node.likes[target] === weight) return 'nothing';
  const { [target]: _, ...others } = node.likes;
  const likes = weight === undefined ? others : { ...others, [target]: weight };
  return withNodes(content, [{ ...node, likes }]);
}

function translated(
  content: ModelContent,
  node: ModelNode,
  edit: ModelEdit & { readonly do: 'translate' | 'hide' | 'unhide' | 'untranslate' },
): Edited {
  const { locale } = edit;
  const { [locale]: present, ...others } = node.locales;
  const written = (overlay: ModelOverlay | undefined): Edited => {
    const locales = overlay === undefined ? others : { ...others, [locale]: overlay };
    return withNodes(content, [{ ...node, locales }]);
  };
  switch (edit.do) {
    case 'translate':
      return written({ isHidden: false, value: edit.value, source: node.title });
    case 'hide':
      return written({ ...(present ?? { value: null, source: null }), isHidden: true });
    case 'unhide':
      if (present?.isHidden !== true) return 'nothing';
      return written(present.value === null ? undefined : { ...present, isHidden: false });
    case 'untranslate':
      return present === undefined ? 'nothing' : written(undefined);
  }
}

function defined(content: ModelContent, edit: ModelEdit & { readonly do: 'define' | 'undefine' }): Edited {
  const types = new Map(content.types);
  const touched = new Map<string, ModelOperation>();
  if (edit.do === 'undefine') {
    return types.delete(edit.name) ? { content: { ...content, types }, touched } : 'refused';
  }
  types.set(edit.name, edit.type);
  const ofType = [...content.nodes.values()].filter((node) => node.nodeType === edit.name);
  const isClash = edit.type.isUnique && ofType.some((node) => hasTwin(content.nodes, node));
  return isClash ? 'refused' : { content: { ...content, types }, touched };
}
