import { isTextual } from '../operators/operand-types.ts';
import type { SqlType, SqlTypeName } from '../sql-type.ts';
import { bigintType, doubleType, textType } from '../types/basic-types.ts';
import { sameType } from '../types/common-type.ts';

/**
 * The type as which two values, one of each type, have the same key (see `rowKey`) exactly when they are equal.
 *
 * @returns undefined: there is none, so they have to be compared. A BIGINT and a DOUBLE are equal by their exact values, which
 *   the shortest text of a large double does not show
 */
export function commonKeyType(first: SqlType, second: SqlType): SqlType | undefined {
  if (sameType(first, second)) return first;
  if (isTextual(first) && isTextual(second)) return textType;
  const names: readonly SqlTypeName[] = [first.name, second.name];
  if (!names.includes('int')) return undefined;
  if (names.includes('bigint')) return bigintType;
  return names.includes('double') ? doubleType : undefined;
}
