import type { AlterRoleStatement, GrantNode } from './nodes/access-nodes.ts';
import type { Statement } from './nodes/statement-nodes.ts';
import type { TranslatedStep } from './nodes/tree-nodes.ts';
import { hiddenValue } from './print-words.ts';
import { printStatement } from './print-statement.ts';
import type { SyntaxNode } from './syntax-node.ts';
import { transform } from './visitor.ts';

/** Stands in place of a text that is no node of the tree. */
const HIDDEN_TEXT = '?';

/**
 * The text of a statement with `?` in place of every literal, for logs: what it is about can be told, and what it contains
 * cannot. Names of tables, columns and properties, keywords, parameters (`$1`) and numbers that are no values (`HEAD~2`) stay.
 *
 * @param lengthMax longest text, in UTF-16 units; a longer one ends with `…`
 */
export function printWithoutLiterals(statement: Statement, lengthMax: number): string {
  const text = printStatement(transform(statement, withoutLiterals, (node) => shortened(node, lengthMax)));
  return text.length > lengthMax ? `${text.slice(0, lengthMax - 1)}…` : text;
}

/** A node without those items and rows that are behind the end of the text: each takes two characters at least. */
function shortened<Node extends SyntaxNode>(node: Node, lengthMax: number): Node {
  const itemsMax = Math.ceil(lengthMax / 2);
  const each: SyntaxNode = node;
  if (each.kind === 'in-list' || each.kind === 'array') {
    return each.items.length <= itemsMax
      ? node
      : ({ ...each, items: each.items.slice(0, itemsMax) } as SyntaxNode as Node);
  }
  if (each.kind !== 'values') return node;
  let items = 0;
  const end = each.rows.findIndex((row) => {
    items += row.length;
    return items > itemsMax;
  });
  return end < 0 ? node : ({ ...each, rows: each.rows.slice(0, end + 1) } as SyntaxNode as Node);
}

/** A node whose children have no literals any more. */
function withoutLiterals<Node extends SyntaxNode>(node: Node): Node {
  return hidden(node) as Node;
}

function hidden(node: SyntaxNode): SyntaxNode {
  switch (node.kind) {
    case 'literal':
    case 'interval':
      return hiddenValue;
    // What follows is written in statements without being a node of the tree.
    case 'create-role':
      return { ...node, permissions: node.permissions.map(withoutCondition) };
    case 'alter-role':
      return { ...node, change: withoutConditionOf(node.change) };
    case 'translate':
      return {
        ...node,
        values: node.values.map((each) => ({ ...each, path: each.path.map(withoutElement) })),
      };
    default:
      return node;
  }
}

function withoutCondition(grant: GrantNode): GrantNode {
  return grant.condition === undefined ? grant : { ...grant, condition: HIDDEN_TEXT };
}

function withoutConditionOf(change: AlterRoleStatement['change']): AlterRoleStatement['change'] {
  return change.kind === 'add-permission' ? { ...change, grant: withoutCondition(change.grant) } : change;
}

function withoutElement(step: TranslatedStep): TranslatedStep {
  return step.kind === 'element' ? { ...step, uuid: HIDDEN_TEXT } : step;
}
