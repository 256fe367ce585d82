/** Items of a subscript: `[1]`, `[0 to 2]`. A negative bound counts from the end, -1 is the last item. */
export interface PathRange {
  readonly from: number;
  readonly to: number;
}

/**
 * One step of a path: from each value to some values in it. An exact step takes values as they are: after `..`, which comes
 * to the items of each array by itself, looking into them again would find them twice.
 */
export type PathStep =
  | { readonly kind: 'key'; readonly key: string; readonly isExact: boolean }
  | { readonly kind: 'every-key' }
  | { readonly kind: 'items'; readonly ranges: readonly PathRange[]; readonly isExact: boolean }
  | { readonly kind: 'every-item'; readonly isExact: boolean }
  /** The items of an array, the values of an object. */
  | { readonly kind: 'every-member' }
  /** The value and all that it contains, at every level. */
  | { readonly kind: 'descend' }
  /** Keeps the values for which the condition is true; unless it is exact, those of an array one by one. */
  | { readonly kind: 'filter'; readonly condition: PathCondition; readonly isExact: boolean };

/** A path from the root `$` or from the value a filter looks at, `@`. */
export interface PathSteps {
  readonly kind: 'steps';
  readonly isFromRoot: boolean;
  readonly steps: readonly PathStep[];
}

/** One side of a comparison. */
export type PathOperand =
  | PathSteps
  | { readonly kind: 'literal'; readonly value: null | boolean | number | string };

/** How two values are compared. */
export type PathComparison = '==' | '!=' | '<' | '<=' | '>' | '>=';

/** A condition: true, false or unknown. */
export type PathCondition =
  | { readonly kind: 'and' | 'or'; readonly operands: readonly PathCondition[] }
  | { readonly kind: 'not'; readonly operand: PathCondition }
  | { readonly kind: 'exists'; readonly path: PathSteps }
  | {
      readonly kind: 'compare';
      readonly comparison: PathComparison;
      readonly left: PathOperand;
      readonly right: PathOperand;
    }
  | { readonly kind: 'starts-with'; readonly operand: PathOperand; readonly prefix: string };

/** A JSONPath: one that finds values, or a condition on the root. */
export type JsonPath = PathSteps | { readonly kind: 'condition'; readonly condition: PathCondition };
