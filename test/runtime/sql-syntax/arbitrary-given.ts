import fc from 'fast-check';
import type { GivenText, GivenValue, WorkspaceName } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { RestoredRevision } from '#runtime/sql-syntax/nodes/tree-nodes.ts';

/** What statements give as plain values, as the parser makes it, without meaningful places. */

const span = { start: 0, end: 0 };

/** A clause that need not be there. */
export function perhaps<Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
  return fc.option(value, { nil: undefined });
}

/** A name of a column, key or the like; some of them must be quoted. */
export const arbitraryName = fc.constantFrom(
  'a',
  'path',
  'Set',
  'values',
  'returning',
  'a b',
  'a"b',
  'ünder',
  '1a',
  '_',
);

const text = fc.constantFrom('x', '/a/b', "it's", '$$', '--', 'a\nb', ';', '/*', '"', 'main', 'a-b');
const parameter = fc.nat({ max: 20 }).map((index): GivenText => ({ kind: 'parameter', index, span }));

function literalOf(value: string): GivenText {
  return { kind: 'literal', type: 'text', value, span };
}

/** A text that is not empty, or a parameter. */
export const arbitraryFullText: fc.Arbitrary<GivenText> = fc.oneof(text.map(literalOf), parameter);

/** A text or a parameter. */
export const arbitraryText: fc.Arbitrary<GivenText> = fc.oneof(arbitraryFullText, fc.constant(literalOf('')));

/** A number with its sign. */
export const arbitraryNumber: fc.Arbitrary<GivenValue> = fc.oneof(
  fc
    .integer({ min: -2_147_483_647, max: 2_147_483_647 })
    .map((value): GivenValue => ({ kind: 'literal', type: 'int', value, span })),
  fc
    .bigInt({ min: 2_147_483_648n, max: 9_223_372_036_854_775_807n })
    .chain((value) => fc.constantFrom(value, -value, -(2n ** 63n)))
    .map((value): GivenValue => ({ kind: 'literal', type: 'bigint', value, span })),
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((value) => !Object.is(value, -0))
    .map((value): GivenValue => ({ kind: 'literal', type: 'double', value, span })),
);

/** Any value. */
export const arbitraryValue: fc.Arbitrary<GivenValue> = fc.oneof(
  arbitraryText,
  arbitraryNumber,
  fc.boolean().map((value): GivenValue => ({ kind: 'literal', type: 'boolean', value, span })),
  fc.constant<GivenValue>({ kind: 'literal', type: 'null', value: null, span }),
);

/** A workspace. */
export const arbitraryWorkspace: fc.Arbitrary<WorkspaceName> = fc.oneof(
  fc.constantFrom('blog', 'SiteMedia', 'tree', 'set').map((name) => ({ name, isBare: true, span })),
  fc.constantFrom('blog', 'svc:access_control', 'a"b', 'from').map((name) => ({ name, isBare: false, span })),
);

/** A revision that a statement names. */
export const arbitraryRevision: fc.Arbitrary<RestoredRevision> = fc.oneof(
  fc
    .tuple(perhaps(fc.constantFrom('main', 'HEAD', 'a b', 'select', "it's")), fc.nat({ max: 999_999_999 }))
    .map(([branch, distance]): RestoredRevision => ({ kind: 'relative', branch, distance })),
  arbitraryText.map((revision): RestoredRevision => ({ kind: 'revision', revision })),
);
