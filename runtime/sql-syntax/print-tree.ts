import type {
  NodeReference,
  PlacedReference,
  RestoredRevision,
  TranslatedStep,
  TranslatedValue,
  TreeStatement,
} from './nodes/tree-nodes.ts';
import {
  printClause,
  printGiven,
  printName,
  type PrintersOf,
  printTexts,
  printWorkspace,
  quoteName,
  quoteText,
} from './print-words.ts';

function printReference(reference: NodeReference): string {
  return `${reference.by}=${printGiven(reference.value)}`;
}

function printPlaced({ node, workspace }: PlacedReference): string {
  return `${printReference(node)}${printClause(' IN WORKSPACE ', workspace)}`;
}

/** A revision that a statement names. */
export function printRevision(revision: RestoredRevision): string {
  if (revision.kind === 'revision') return printGiven(revision.revision);
  const base = revision.branch === undefined ? 'HEAD' : quoteName(revision.branch);
  return `${base}~${revision.distance}`;
}

/** Behind a key without a key before it stands an element of that key. */
function printPath(steps: readonly TranslatedStep[]): string {
  return steps
    .map((step, index) => {
      if (step.kind === 'element') return `[uuid=${quoteText(step.uuid)}]`;
      return `${index === 0 ? '' : '.'}${printName(step.key)}`;
    })
    .join('');
}

function printTranslated({ path, value }: TranslatedValue): string {
  return `${printPath(path)} = ${printGiven(value)}`;
}

/** How statements about the tree are printed. */
export const treePrinters: PrintersOf<TreeStatement['kind']> = {
  move: (node) => {
    const where = `${printWorkspace(node.workspace)}${printClause(' IN BRANCH ', node.branch)}`;
    return `MOVE ${where} SET ${printReference(node.source)} TO ${printReference(node.target)}`;
  },
  copy: (node) => {
    const where = `${printWorkspace(node.workspace)}${printClause(' IN BRANCH ', node.branch)}`;
    const ends = `${printReference(node.source)} TO ${printReference(node.target)}`;
    return `COPY ${node.isTree ? 'TREE ' : ''}${where} SET ${ends}${printClause(' AS ', node.newName)}`;
  },
  order: (node) => {
    const where = `${printWorkspace(node.workspace)}${printClause(' IN BRANCH ', node.branch)}`;
    const position = node.position.toUpperCase();
    return `ORDER ${where} SET ${printReference(node.source)} ${position} ${printReference(node.target)}`;
  },
  relate: (node) => {
    const ends = `FROM ${printPlaced(node.source)} TO ${printPlaced(node.target)}`;
    const rest = `${printClause(' TYPE ', node.type)}${printClause(' WEIGHT ', node.weight)}`;
    return `RELATE${printClause(' IN BRANCH ', node.branch)} ${ends}${rest}`;
  },
  unrelate: (node) => {
    const ends = `FROM ${printPlaced(node.source)} TO ${printPlaced(node.target)}`;
    return `UNRELATE${printClause(' IN BRANCH ', node.branch)} ${ends}${printClause(' TYPE ', node.type)}`;
  },
  restore: (node) => {
    const what = `${node.isTree ? 'TREE ' : ''}NODE ${printPlaced(node.node)}`;
    const where = printClause(' IN BRANCH ', node.branch);
    const translations =
      node.translations === undefined ? '' : ` TRANSLATIONS ${printTexts(node.translations)}`;
    return `RESTORE ${what}${where} TO REVISION ${printRevision(node.revision)}${translations}`;
  },
  translate: (node) => {
    const where = `${printClause(' FOR LOCALE ', node.locale)}${printClause(' IN BRANCH ', node.branch)}`;
    const conditions = [
      ...(node.node === undefined ? [] : [printReference(node.node)]),
      ...(node.nodeType === undefined ? [] : [`node_type=${printGiven(node.nodeType)}`]),
    ];
    const values = node.values.map(printTranslated).join(', ');
    const target = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
    return `UPDATE ${printWorkspace(node.workspace)}${where} SET ${values}${target}`;
  },
};
