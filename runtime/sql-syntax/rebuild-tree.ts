import { mapList, mapOptional } from './map-parts.ts';
import type { NodeReference, PlacedReference, RestoredRevision, TreeStatement } from './nodes/tree-nodes.ts';
import type { MapChild, RebuildersOf } from './syntax-node.ts';

function mapReference(reference: NodeReference, map: MapChild): NodeReference {
  return { ...reference, value: map(reference.value) };
}

function mapPlaced(reference: PlacedReference, map: MapChild): PlacedReference {
  return {
    node: mapReference(reference.node, map),
    workspace: mapOptional(reference.workspace, map),
  };
}

/** A revision that a statement names. */
export function mapRevision(revision: RestoredRevision, map: MapChild): RestoredRevision {
  return revision.kind === 'revision' ? { ...revision, revision: map(revision.revision) } : revision;
}

/** How statements about the tree are made anew from their children. */
export const treeRebuilders: RebuildersOf<TreeStatement['kind']> = {
  move: (node, map) => ({
    ...node,
    branch: mapOptional(node.branch, map),
    source: mapReference(node.source, map),
    target: mapReference(node.target, map),
  }),
  copy: (node, map) => ({
    ...node,
    branch: mapOptional(node.branch, map),
    source: mapReference(node.source, map),
    target: mapReference(node.target, map),
    newName: mapOptional(node.newName, map),
  }),
  order: (node, map) => ({
    ...node,
    branch: mapOptional(node.branch, map),
    source: mapReference(node.source, map),
    target: mapReference(node.target, map),
  }),
  relate: (node, map) => ({
    ...node,
    branch: mapOptional(node.branch, map),
    source: mapPlaced(node.source, map),
    target: mapPlaced(node.target, map),
    type: mapOptional(node.type, map),
    weight: mapOptional(node.weight, map),
  }),
  unrelate: (node, map) => ({
    ...node,
    branch: mapOptional(node.branch, map),
    source: mapPlaced(node.source, map),
    target: mapPlaced(node.target, map),
    type: mapOptional(node.type, map),
  }),
  restore: (node, map) => ({
    ...node,
    node: mapPlaced(node.node, map),
    branch: mapOptional(node.branch, map),
    revision: mapRevision(node.revision, map),
    translations: mapList(node.translations, map),
  }),
  translate: (node, map) => ({
    ...node,
    locale: map(node.locale),
    branch: mapOptional(node.branch, map),
    values: node.values.map((each) => ({ ...each, value: map(each.value) })),
    node: node.node === undefined ? undefined : mapReference(node.node, map),
    nodeType: mapOptional(node.nodeType, map),
  }),
};
