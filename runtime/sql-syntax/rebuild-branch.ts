import { mapOptional } from './map-parts.ts';
import type {
  AlterBranchStatement,
  BranchStatement,
  CompareBranchesStatement,
  ConflictResolution,
  SessionStatement,
  ShowBranchesStatement,
} from './nodes/branch-nodes.ts';
import { mapRevision } from './rebuild-tree.ts';
import type { MapChild, RebuildersOf } from './syntax-node.ts';

function mapChange(change: AlterBranchStatement['change'], map: MapChild): AlterBranchStatement['change'] {
  if (change.kind === 'upstream') return { ...change, upstream: mapOptional(change.upstream, map) };
  if (change.kind === 'rename') return { ...change, name: map(change.name) };
  return change.kind === 'description' ? { ...change, text: map(change.text) } : change;
}

function mapResolution(resolution: ConflictResolution, map: MapChild): ConflictResolution {
  const nodeId = map(resolution.nodeId);
  const locale = mapOptional(resolution.locale, map);
  const { decision } = resolution;
  return {
    ...resolution,
    nodeId,
    locale,
    decision: decision.kind === 'use-value' ? { ...decision, json: map(decision.json) } : decision,
  };
}

function unchanged(node: ShowBranchesStatement): ShowBranchesStatement {
  return node;
}

function mapCompared(node: CompareBranchesStatement, map: MapChild): CompareBranchesStatement {
  return { ...node, branch: map(node.branch), base: map(node.base) };
}

/** How statements about branches and about the session are made anew from their children. */
export const branchRebuilders: RebuildersOf<(BranchStatement | SessionStatement)['kind']> = {
  'create-branch': (node, map) => ({
    ...node,
    name: map(node.name),
    from: mapOptional(node.from, map),
    at: node.at === undefined ? undefined : mapRevision(node.at, map),
    description: mapOptional(node.description, map),
    upstream: mapOptional(node.upstream, map),
  }),
  'alter-branch': (node, map) => ({ ...node, name: map(node.name), change: mapChange(node.change, map) }),
  'drop-branch': (node, map) => ({ ...node, name: map(node.name) }),
  'merge-branch': (node, map) => ({
    ...node,
    source: map(node.source),
    target: map(node.target),
    message: mapOptional(node.message, map),
    resolutions: node.resolutions.map((each) => mapResolution(each, map)),
  }),
  'show-branches': unchanged,
  'show-current-branch': unchanged,
  'describe-branch': (node, map) => ({ ...node, name: map(node.name) }),
  'show-divergence': mapCompared,
  'show-conflicts': mapCompared,
  'use-branch': (node, map) => ({ ...node, name: map(node.name) }),
  begin: (node) => node,
  commit: (node, map) => ({
    ...node,
    message: mapOptional(node.message, map),
    actor: mapOptional(node.actor, map),
  }),
  rollback: (node) => node,
  'set-variable': (node, map) => ({ ...node, value: mapOptional(node.value, map) }),
  'show-variable': (node) => node,
};
