import { emptyScope, type ReadableNode, type ReadScope, wholeScope } from '../policy.ts';
import type { BoundRule } from './bound-rule.ts';
import type { RuleList } from './rule-list.ts';

/** Above this number of paths a scan would take longer to compare them than to pass the rows. */
const TOPS_MAX = 32;

/** Above this number of paths nobody finds out whether they are below fewer ones. */
const COMPARED_TOPS_MAX = 4_096;

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
        fields: (node: ReadableNode) => list.fields({ path: node.path, nodeType: node.nodeType, node }),
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
    ...(isExact(rules, tops)
      ? {}
      : { allows: (node) => list.holds({ path: node.path, nodeType: node.nodeType, node }) }),
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
  const found = new Set<string>();
  for (const { tops } of rules) for (const top of tops) found.add(top);
  if (found.has('/') || found.size > COMPARED_TOPS_MAX) return undefined;
  const kept: string[] = [];
  // With a slash behind it, a path precedes those below it, and nothing else comes between them.
  for (const place of Array.from(found, (top) => `${top}/`).sort())
    if (!place.startsWith(kept.at(-1) ?? '//')) kept.push(place);
  return kept.length > TOPS_MAX ? undefined : kept.map((place) => place.slice(0, -1));
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
