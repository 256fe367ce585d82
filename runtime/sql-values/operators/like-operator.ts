import type { ScalarFunction } from '../scalar-function.ts';
import type { SqlType } from '../sql-type.ts';
import { booleanType, textType } from '../types/basic-types.ts';
import { LikePattern } from './like-pattern.ts';
import { typeMismatch } from './operand-types.ts';

/**
 * `LIKE` and `ILIKE`, for TEXT and PATH.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for other types
 */
export function likeOperator(operator: 'LIKE' | 'ILIKE', left: SqlType, right: SqlType): ScalarFunction {
  const parameters = [left, right].map(likeType);
  // The pattern is nearly always the same for all rows.
  let source: string | undefined;
  let last = new LikePattern('', false);
  const patternOf = (text: string): LikePattern => {
    if (text === source) return last;
    last = new LikePattern(text, operator === 'ILIKE');
    source = text;
    return last;
  };
  return {
    name: operator,
    parameters,
    result: booleanType,
    isStrict: true,
    work: ([text, pattern]) => {
      if (text === null || pattern === null) return 0;
      const { length } = text as string;
      if (pattern === source) return last.work(length);
      return LikePattern.workOf(pattern as string, length, operator === 'ILIKE');
    },
    evaluate: (text, pattern) => patternOf(pattern as string).matches(text as string),
  };
}

function likeType(type: SqlType): SqlType {
  if (type.name === 'unknown') return textType;
  if (type.name !== 'text' && type.name !== 'path') throw typeMismatch(textType, type);
  return type;
}
