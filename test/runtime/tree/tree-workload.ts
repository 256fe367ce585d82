import fc from 'fast-check';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import { parseNodeTypeDefinition } from '#runtime/content/definitions/node-type.ts';
import { orderKeyBetween } from '#runtime/content/order-key.ts';
import { isDescendantPath, joinPath, pathName, rebasePath } from '#runtime/content/path.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { newSchemaRecord } from '#runtime/content/definitions/schema-record.ts';
import { SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { TreeWriter } from '#runtime/tree/tree-writer.ts';
import { MODEL_ROOT, type ModelNode } from './tree-model.ts';
import { plainHeader } from '#test/support/plain-header.ts';

/** One thing a revision does; numbers pick among what is there. */
export type Step =
  | {
      readonly do: 'create';
      readonly parent: number;
      readonly name: string;
      readonly old: boolean;
      readonly other: boolean;
    }
  | { readonly do: 'update'; readonly node: number }
  | { readonly do: 'remove'; readonly node: number }
  | { readonly do: 'move'; readonly node: number; readonly parent: number; readonly name: string }
  | { readonly do: 'reorder'; readonly node: number; readonly place: number }
  | { readonly do: 'swap'; readonly node: number; readonly other: number };

/** Two of them make a path that is too long for a key. */
const LONG_NAME = 'long'.repeat(200);

const pick = fc.nat({ max: 50 });
const name = fc.constantFrom('a', 'b', 'c', 'b-1', 'd.e', LONG_NAME);
export const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('create' as const),
      parent: pick,
      name,
      old: fc.boolean(),
      other: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('update' as const), node: pick }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), node: pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('move' as const), node: pick, parent: pick, name }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reorder' as const), node: pick, place: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('swap' as const), node: pick, other: pick }) },
);

/** A revision, and whether what is pending goes to LMDB after it. */
export const history: fc.Arbitrary<readonly { readonly steps: readonly Step[]; readonly apply: boolean }[]> =
  fc.array(fc.record({ steps: fc.array(step, { minLength: 1, maxLength: 4 }), apply: fc.boolean() }), {
    minLength: 1,
    maxLength: 14,
  });

const stored = newSchemaRecord(
  parseNodeTypeDefinition({
    name: 'test:Item',
    properties: [{ name: 'title', type: 'String', index: ['Property'] }],
  }),
  'item',
  '2026-01-01T00:00:00.000Z',
);
/** Its types. */
export const types: SchemaResolver = new SchemaResolver({
  nodeType: (asked) => (asked === 'test:Item' ? stored : undefined),
  archetype: () => undefined,
  elementType: () => undefined,
});

/** Carries steps out on the model and on the tree alike. */
export class Stepper {
  readonly #workspace: string;
  readonly #nodes: Map<string, ModelNode>;
  readonly #writer: TreeWriter;
  readonly #everyId: Set<string>;

  constructor(workspace: string, nodes: Map<string, ModelNode>, writer: TreeWriter, everyId: Set<string>) {
    this.#workspace = workspace;
    this.#nodes = nodes;
    this.#writer = writer;
    this.#everyId = everyId;
  }

  run(step: Step): void {
    if (step.do === 'create') {
      this.#create(step);
      return;
    }
    const node = this.#choose(step.node);
    if (node === undefined) return;
    if (step.do === 'update') this.#replace(node, { title: `${node.title}!` });
    else if (step.do === 'remove') for (const each of this.#subtree(node).reverse()) this.#remove(each);
    else if (step.do === 'move') this.#move(node, step);
    else if (step.do === 'reorder') this.#replace(node, { orderKey: this.#keyAt(node.parentId, step.place) });
    else this.#swap(node, this.#choose(step.other));
  }

  #choose(index: number): ModelNode | undefined {
    const all = [...this.#nodes.values()];
    return all.length === 0 ? undefined : all[index % all.length];
  }

  #parent(index: number): { readonly id: string; readonly path: string } {
    return [{ id: MODEL_ROOT, path: '/' }, ...this.#nodes.values()][
      index % (this.#nodes.size + 1)
    ] as ModelNode;
  }

  #isFree(path: string): boolean {
    return ![...this.#nodes.values()].some((node) => node.path === path);
  }

  #children(parentId: string): ModelNode[] {
    const children = [...this.#nodes.values()].filter((node) => node.parentId === parentId);
    return children.sort((a, b) => (a.orderKey < b.orderKey ? -1 : 1));
  }

  /** A free key at some place among the children. */
  #keyAt(parentId: string, place: number): string {
    const keys = this.#children(parentId).map((child) => child.orderKey);
    const index = place % (keys.length + 1);
    return orderKeyBetween(keys[index - 1] ?? null, keys[index] ?? null);
  }

  #lastKey(parentId: string): string {
    return orderKeyBetween(this.#children(parentId).at(-1)?.orderKey ?? null, null);
  }

  #subtree(top: ModelNode): ModelNode[] {
    const below = [...this.#nodes.values()].filter((node) => isDescendantPath(node.path, top.path));
    return [top, ...below.sort((a, b) => (a.path < b.path ? -1 : 1))];
  }

  #create({ parent: index, name, old, other }: Step & { readonly do: 'create' }): void {
    const parent = this.#parent(index);
    const path = joinPath(parent.path, name);
    if (!this.#isFree(path)) return;
    // An id that was deleted may come back.
    const gone = [...this.#everyId].find((id) => !this.#nodes.has(id));
    const id = old && gone !== undefined ? gone : `n${this.#everyId.size}`;
    this.#everyId.add(id);
    const node: ModelNode = {
      id,
      path,
      parentId: parent.id,
      orderKey: this.#lastKey(parent.id),
      nodeType: other ? 'test:Other' : 'test:Item',
      version: 1,
      title: path,
    };
    this.#nodes.set(id, node);
    this.#writer.add(this.#workspace, this.#record(node, 'added'));
  }

  #remove(node: ModelNode): void {
    this.#writer.remove(this.#workspace, this.#present(node.id));
    this.#nodes.delete(node.id);
  }

  #move(node: ModelNode, { parent: index, name }: Step & { readonly do: 'move' }): void {
    const parent = this.#parent(index);
    const path = joinPath(parent.path, name);
    const isInside = parent.path === node.path || isDescendantPath(parent.path, node.path);
    if (isInside || !this.#isFree(path)) return;
    const place = { parentId: parent.id, orderKey: this.#keyAt(parent.id, index) };
    for (const each of this.#subtree(node)) {
      const moved = { path: rebasePath(each.path, node.path, path) };
      this.#replace(each, each.id === node.id ? { ...moved, ...place } : moved);
    }
  }

  /** Two childless nodes take each other's names: for a moment both want one path. */
  #swap(node: ModelNode, other: ModelNode | undefined): void {
    if (other === undefined || other.id === node.id || other.parentId !== node.parentId) return;
    if (this.#children(node.id).length + this.#children(other.id).length > 0) return;
    this.#replace(node, { path: other.path });
    this.#replace(other, { path: node.path });
  }

  #replace(node: ModelNode, change: Partial<ModelNode>): void {
    const next = { ...node, ...change, version: node.version + 1 };
    this.#nodes.set(node.id, next);
    this.#writer.replace(this.#workspace, this.#present(node.id), this.#record(next, 'modified'));
  }

  #present(id: string): NodeRecord {
    return this.#writer.head.byId(this.#workspace, id) as NodeRecord;
  }

  #record(node: ModelNode, operation: NodeHeader['operation']): NodeRecord {
    const { id, nodeType, orderKey, parentId, path, title, version } = node;
    const revision = formatRevision(this.#writer.revision);
    const place = { id, name: pathName(path), path, parentId, orderKey };
    return makeNodeRecord({ ...plainHeader, ...place, nodeType, version, revision, operation }, { title });
  }
}
