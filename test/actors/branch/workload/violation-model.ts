import { FOLDER, type ModelContent, type ModelNode, type ModelType } from './content-model.ts';
import { isChanged, isNodeChanged, type MergeSides, typeText } from './merge-model.ts';

/** What is wrong with nodes and types as both sides of a merge make them: by id, the kinds of it. */
export type ModelViolations = ReadonlyMap<string, ReadonlySet<string>>;

type Nodes = ModelContent['nodes'];

/**
 * What neither side of a merge has by itself and both together make. A node counts where its type comes out other than on
 * the side it is from, and where no side has it with the same content and the same wrong.
 *
 * @param content what comes out, each conflict settled for the target
 * @param disputed nodes in conflict, from which nothing follows
 */
export function violationsIn(
  content: ModelContent,
  sides: MergeSides,
  disputed: ReadonlySet<string>,
): ModelViolations {
  const found = new Map<string, Set<string>>();
  const note = (id: string, kind: string): void => {
    found.set(id, (found.get(id) ?? new Set()).add(kind));
  };
  const { base, source, target } = sides;
  const held = [...content.nodes.values()].filter(({ id, nodeType }) => {
    const isTouched = isChanged(id, base, target) || isChanged(id, base, source);
    return isTouched && nodeType !== FOLDER && !disputed.has(id);
  });
  for (const node of held) {
    const wrong = wrongWith(node, content);
    if (wrong === undefined || !isTypeOther(node, sides, content)) continue;
    const isKnown = [target, source].some((side) => {
      const there = side.nodes.get(node.id);
      if (there === undefined || contentText(there) !== contentText(node)) return false;
      return wrongWith(there, side) === wrong;
    });
    if (isKnown || isTypeOpen(node.nodeType, sides)) continue;
    note(node.id, wrong);
    note(`node_type:${node.nodeType}`, wrong);
  }
  for (const [id, isByType] of twins(held, content, sides, disputed)) {
    note(id, 'DuplicateValue');
    if (isByType) note(`node_type:${(content.nodes.get(id) as ModelNode).nodeType}`, 'DuplicateValue');
  }
  return found;
}

function contentText({ code, nodeType, title }: ModelNode): string {
  return JSON.stringify([nodeType, title, code]);
}

function wrongWith({ code, nodeType }: ModelNode, { types }: ModelContent): string | undefined {
  const type = types.get(nodeType);
  if (type === undefined) return 'MissingDefinition';
  return type.isRequired && code === null ? 'InvalidContent' : undefined;
}

/** The side a node has its content from; the target where both made the same of it. */
function homeOf(id: string, { base, source, target }: MergeSides): ModelContent {
  return isNodeChanged(id, base, source) && !isNodeChanged(id, base, target) ? source : target;
}

function isTypeOther({ id, nodeType }: ModelNode, sides: MergeSides, content: ModelContent): boolean {
  return isTypeOpen(nodeType, sides) || typeText(homeOf(id, sides), nodeType) !== typeText(content, nodeType);
}

/** Whether both sides changed a type, and not to the same. */
function isTypeOpen(name: string, { base, source, target }: MergeSides): boolean {
  return new Set([base, source, target].map((side) => typeText(side, name))).size === 3;
}

/** Nodes with a code that another one has as well, and whether it only becomes unique by the merge. */
function twins(
  held: readonly ModelNode[],
  { nodes, types }: ModelContent,
  sides: MergeSides,
  disputed: ReadonlySet<string>,
): ReadonlyMap<string, boolean> {
  const found = new Map<string, boolean>();
  for (const node of held) {
    const { code, id, nodeType } = node;
    const isUnique = (type: ModelType | undefined): boolean => type?.isUnique === true;
    if (code === null || !isUnique(types.get(nodeType))) continue;
    const isByType = [sides.target, sides.source].some((side) => !isUnique(side.types.get(nodeType)));
    if (isByType && isTypeOpen(nodeType, sides)) continue;
    if (others(nodes, node).some((other) => !disputed.has(other.id))) found.set(id, isByType);
  }
  return found;
}

function others(nodes: Nodes, { code, id, nodeType }: ModelNode): readonly ModelNode[] {
  return [...nodes.values()].filter(
    (other) => other.id !== id && other.nodeType === nodeType && other.code === code,
  );
}
