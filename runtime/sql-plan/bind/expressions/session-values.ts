import type { CallNode } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';
import { dateType, textType, timestamptzType } from '#runtime/sql-values/types/basic-types.ts';
import type { BoundConstant } from '../../bound/bound-statement.ts';
import type { StatementScope } from '../../ports.ts';
import type { StatementBinding } from '../statement-binding.ts';
import { constantOf, wrongArgumentCount } from './typing.ts';

const DAY_MICROSECONDS = 86_400_000_000n;
/** The only schema, so that tools that ask for one get an answer. */
const SCHEMA = 'public';
/** The database, as it is named to such tools. */
const DATABASE = 'svc';

const now = ({ nowMicroseconds }: StatementScope) => constantOf(timestamptzType, nowMicroseconds);
const user = ({ user: name }: StatementScope) => constantOf(textType, name);
const database = () => constantOf(textType, DATABASE);

const values: Readonly<Record<string, (scope: StatementScope) => BoundConstant>> = {
  NOW: now,
  CURRENT_TIMESTAMP: now,
  CURRENT_DATE: ({ nowMicroseconds }) => constantOf(dateType, dayOf(nowMicroseconds)),
  CURRENT_USER: user,
  SESSION_USER: user,
  CURRENT_SCHEMA: () => constantOf(textType, SCHEMA),
  CURRENT_DATABASE: database,
  CURRENT_CATALOG: database,
  VERSION: ({ version }) => constantOf(textType, version),
  CURRENT_BRANCH: ({ branch }) => constantOf(textType, branch),
};

/** Days since 1970-01-01, rounded down: also moments before it belong to their own day. */
function dayOf(microseconds: bigint): number {
  const isBefore = microseconds < 0n && microseconds % DAY_MICROSECONDS !== 0n;
  return Number(microseconds / DAY_MICROSECONDS) - (isBefore ? 1 : 0);
}

/**
 * The value of a function of the session, such as NOW(). It is the same in all of a statement.
 *
 * @returns undefined: the call is of another function
 */
export function sessionValue(node: CallNode, binding: StatementBinding): BoundConstant | undefined {
  if (!Object.hasOwn(values, node.name)) return undefined;
  const count = node.args.length;
  if (count > 0)
    binding.at(node.span, () => {
      throw wrongArgumentCount(node.name, '0', count);
    });
  return values[node.name]!(binding.scope);
}
