import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import type { BoundConstant } from './bound-statement.ts';
import type { OpenValue } from './open-value.ts';

/** A constant that has an open value. */
export type OpenConstant = BoundConstant & { readonly open: OpenValue };

/** A constant whose value is only looked at by whoever reads it. @param isParameter as in {@link BoundConstant} */
export function openConstant(type: SqlType, open: OpenValue, isParameter: boolean): OpenConstant {
  return {
    kind: 'constant',
    type,
    get value() {
      return open.read();
    },
    open,
    ...(isParameter ? { isParameter } : {}),
  };
}

/** Whether a constant is NULL. An open value is none, so nobody has to look at it. */
export function isNull(constant: BoundConstant): boolean {
  return constant.open === undefined && constant.value === null;
}
