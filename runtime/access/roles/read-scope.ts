import { emptyScope, isAtOrBelow, type ReadableNode, type ReadScope, wholeScope } from '../policy.ts';
import type { BoundRule } from './bound-rule.ts';
import type { RuleList } from './rule-list.ts';

/** Above this number of paths a scan would take longer to compare them than to pass the rows. */
const TOPS_MAX = 32;

/**
 * The nodes for which a rule holds, for scans. Types and paths only narrow what is looked at, and the condition decides;
 * it is left out where they say the same.
 *
 * @param list the rules for reading
 */
export function readScopeOf(list: RuleList): ReadScope {
  const { rules } = list;
  if (rules.length === 0) return emptyScope;
  const fields = list.hasFields
    ? {
        fields: (node: ReadableNode) => list.fields(node.nodeType, node.path, node),
        hides: (property: string) => rules.some((rule) => !rule.fields.has(property)),
      }
    : {};
  if (list.isUniversal) return list.hasFields ? { ...wholeScope, ...fields } : wholeScope;
  const nodeTypes = typesOf(rules);
  const tops = topsOf(rules);
  return {
    isAll: false,
    isNone: false,
    ...(nodeTypes === undefined ? {} : { nodeTypes }),
    ...(tops === undefined ? {} : { tops }),
    ...(isExact(rules, tops) ? {} : { allows: (node) => list.holds(node.nodeType, node.path, node) }),
    ...fields,
  };
}

/** The types that rules have together; undefined: all. */
function typesOf(rules: readonly BoundRule[]): ReadonlySet<string> | undefined {
  const types = new Set<string>();
  for (const { nodeTypes } of rules) {
    if (nodeTypes === undefined) return undefined;
    for (const type of nodeTypes) types.add(type);
  }
  return types;
}

/** The paths at or below which all nodes of some rules are; undefined: the root, or too many. */
function topsOf(rules: readonly BoundRule[]): readonly string[] | undefined {
  const kept: string[] = [];
  // A path sorts behind those above it.
  for (const top of [...new Set(rules.flatMap(({ tops }) => tops))].sort())
    if (!kept.some((above) => isAtOrBelow(top, above))) kept.push(top);
  return kept.includes('/') || kept.length > TOPS_MAX ? undefined : kept;
}

/** Whether types and paths alone say for which nodes a rule holds. */
function isExact(rules: readonly BoundRule[], tops: readonly string[] | undefined): boolean {
  const [first] = rules;
  if (tops === undefined && !rules.some(({ path }) => path.isEverything)) return false;
  return rules.every(
    ({ condition, nodeTypes, path }) =>
      condition === undefined && path.isSubtree && isSameSet(nodeTypes, first?.nodeTypes),
  );
}

function isSameSet(a: ReadonlySet<string> | undefined, b: ReadonlySet<string> | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.size === b.size && [...a].every((each) => b.has(each));
}
