import { ownValue } from '#runtime/content/values/json-value.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { DescribeAccessStatement } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import { jsonbType, textType } from '#runtime/sql-values/types/basic-types.ts';
import type { AccessAnswer, AccessSource } from './access-answer.ts';
import { named } from './named-node.ts';

/** Properties that come first, in this order; others follow in the order of their names. */
const order = {
  role: ['role_id', 'name', 'description', 'inherits', 'permissions'],
  group: ['group_id', 'name', 'description', 'roles'],
  user: [
    'user_id',
    'email',
    'display_name',
    'status',
    'can_login',
    'roles',
    'groups',
    'birth_date',
    'metadata',
  ],
} as const;

/** `DESCRIBE ROLE|GROUP|USER`: a row for each property that the node has and the caller may read. */
export function describeAccess(source: AccessSource, statement: DescribeAccessStatement): AccessAnswer {
  return {
    columns: [
      { name: 'property', type: textType },
      { name: 'value', type: jsonbType },
    ],
    rows: rowsOf(source, statement),
  };
}

function* rowsOf(
  source: AccessSource,
  { name, target }: DescribeAccessStatement,
): Generator<Row | undefined, void> {
  const { properties } = yield* named(source, target, source.text(name));
  const first: readonly string[] = order[target];
  const others = Object.keys(properties).filter((key) => !first.includes(key));
  for (const key of [...first, ...others.sort()]) {
    const value = ownValue(properties, key);
    if (value !== undefined && value !== null) yield [key, new Jsonb(value)];
  }
}
