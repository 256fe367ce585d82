import { isAtOrBelow, noNeeds, type ReadableNode } from '#runtime/access/policy.ts';
import type { RuleCaller } from '#runtime/access/roles/rule-caller.ts';
import type { BoundCondition, CompileCondition, RuleScope } from '#runtime/access/roles/rule-condition.ts';

const columns = { ...noNeeds, columns: true };
const properties = { ...noNeeds, properties: true };

/** Conditions for tests, by the text that names them. */
const conditions: Readonly<Record<string, (scope: RuleScope) => BoundCondition>> = {
  own: ({ caller }) => ({ needs: columns, holds: (node) => node.createdBy === caller.userId }),
  mine: ({ caller }) => ({ needs: columns, holds: ({ id }) => id === caller.localUserId }),
  draft: () => ({ needs: properties, holds: (node) => node.property('status') === 'draft' }),
  'at home': ({ caller: { home } }) =>
    home !== null && {
      needs: noNeeds,
      tops: [home],
      holds: ({ path }) => isAtOrBelow(path, home),
    },
  'in a or b': () => ({
    needs: noNeeds,
    tops: ['/a', '/b'],
    holds: ({ path }) => isAtOrBelow(path, '/a') || isAtOrBelow(path, '/b'),
  }),
  anonymous: ({ caller }) => caller.isAnonymous,
  'as editor': ({ caller }) => caller.roles.includes('editor'),
  'in content': ({ workspace }) => workspace === 'content',
  always: () => true,
  never: () => false,
};

/** The conditions that {@link compileForTest} knows. */
export const conditionTexts: readonly string[] = Object.keys(conditions);

/** Compiles the name of a condition for tests. */
export const compileForTest: CompileCondition = (text) => {
  const bind = Object.hasOwn(conditions, text) ? conditions[text] : undefined;
  if (bind === undefined) return { error: `there is no condition '${text}'` };
  return { text, bind, readsWorkspace: text === 'in content', readsRelations: false };
};

/** Whether a condition holds, as the reference decides it: straight, without binding. */
export function holdsPlainly(
  text: string,
  caller: RuleCaller,
  workspace: string,
  node: ReadableNode,
): boolean {
  switch (text) {
    case 'own':
      return node.createdBy === caller.userId;
    case 'mine':
      return node.id === caller.localUserId;
    case 'draft':
      return node.property('status') === 'draft';
    case 'at home':
      return caller.home !== null && `${node.path}/`.startsWith(`${caller.home}/`);
    case 'in a or b':
      return /^\/[ab](\/|$)/.test(node.path);
    case 'anonymous':
      return caller.isAnonymous;
    case 'as editor':
      return caller.roles.includes('editor');
    case 'in content':
      return workspace === 'content';
    case 'always':
      return true;
    default:
      return false;
  }
}
