import type { GivenValue, WorkspaceName } from './nodes/given-nodes.ts';
import type { ParameterNode } from './nodes/syntax-nodes.ts';
import { needsQuotes } from './tokens.ts';
import type { NodeOf, SyntaxNode } from './syntax-node.ts';

/** A part of the printer: the text of each of some kinds of nodes. It is a total record, as the visitor is. */
export type PrintersOf<Kinds extends SyntaxNode['kind']> = {
  readonly [Kind in Kinds]: (node: NodeOf<Kind>) => string;
};

/** `'it''s'`. */
export function quoteText(text: string): string {
  return `'${text.split("'").join("''")}'`;
}

/** `"a b"`. */
export function quoteName(text: string): string {
  return `"${text.split('"').join('""')}"`;
}

/** A name, in quotation marks where it needs them. */
export function printName(text: string): string {
  return needsQuotes(text) ? quoteName(text) : text;
}

/** A workspace as the table of a statement. */
export function printWorkspace(workspace: WorkspaceName): string {
  return workspace.isBare ? workspace.name : quoteName(workspace.name);
}

/** Stands in place of a value that is not to be shown; printed as `?`. */
export const hiddenValue: ParameterNode = Object.freeze({
  kind: 'parameter',
  index: 0,
  span: Object.freeze({ start: 0, end: 0 }),
});

/** A value that stands where no expression may. */
export function printGiven(node: GivenValue): string {
  if (node === hiddenValue) return '?';
  if (node.kind === 'parameter') return `$${node.index}`;
  if (node.type === 'text') return quoteText(String(node.value));
  // With an exponent, because without one it would be an integer.
  if (node.type === 'double' && Number.isInteger(node.value)) return Number(node.value).toExponential();
  return String(node.value).toUpperCase();
}

/** `('a', 'b')`. */
export function printTexts(texts: readonly GivenValue[]): string {
  return `(${texts.map(printGiven).join(', ')})`;
}

/** A clause with the value it gives; nothing when there is none. */
export function printClause(before: string, node: GivenValue | undefined): string {
  return node === undefined ? '' : `${before}${printGiven(node)}`;
}
