import fc from 'fast-check';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type {
  NodeReference,
  PlacedReference,
  TranslatedStep,
  TreeStatement,
} from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import {
  arbitraryFullText,
  arbitraryName,
  arbitraryNumber,
  arbitraryRevision,
  arbitraryText,
  arbitraryValue,
  arbitraryWorkspace,
  perhaps,
} from './arbitrary-given.ts';

const span = { start: 0, end: 0 };

function referenceOf(value: fc.Arbitrary<GivenText>): fc.Arbitrary<NodeReference> {
  return fc.record({ by: fc.constantFrom('path', 'id'), value, span: fc.constant(span) });
}

const reference = referenceOf(arbitraryText);
/** RELATE knows texts only that are not empty. */
const relationEnd: fc.Arbitrary<PlacedReference> = fc.record({
  node: referenceOf(arbitraryFullText),
  workspace: perhaps(arbitraryFullText),
});
/** An element stands behind the key of its array. */
const translatedPath: fc.Arbitrary<TranslatedStep[]> = fc
  .array(fc.tuple(arbitraryName, perhaps(fc.constantFrom('u', "it's", ''))), { minLength: 1, maxLength: 3 })
  .map((steps) =>
    steps.flatMap(([key, uuid]): TranslatedStep[] => [
      { kind: 'key', key },
      ...(uuid === undefined ? [] : [{ kind: 'element' as const, uuid }]),
    ]),
  );
const shared = {
  workspace: arbitraryWorkspace,
  branch: perhaps(arbitraryText),
  source: reference,
  target: reference,
  span: fc.constant(span),
};
const related = {
  branch: perhaps(arbitraryFullText),
  source: relationEnd,
  target: relationEnd,
  type: perhaps(arbitraryFullText),
  span: fc.constant(span),
};
const parameter = arbitraryText.filter((node) => node.kind === 'parameter');

/** Any statement about the tree. */
export const arbitraryTreeStatement: fc.Arbitrary<TreeStatement> = fc.oneof<fc.Arbitrary<TreeStatement>[]>(
  fc.record({ kind: fc.constant('move' as const), ...shared }),
  fc.record({
    kind: fc.constant('copy' as const),
    isTree: fc.boolean(),
    ...shared,
    newName: perhaps(arbitraryText),
  }),
  fc.record({ kind: fc.constant('order' as const), ...shared, position: fc.constantFrom('above', 'below') }),
  fc.record({
    kind: fc.constant('relate' as const),
    ...related,
    weight: perhaps(fc.oneof(arbitraryNumber, parameter)),
  }),
  fc.record({ kind: fc.constant('unrelate' as const), ...related }),
  fc.record({
    kind: fc.constant('restore' as const),
    isTree: fc.boolean(),
    node: fc.record({ node: reference, workspace: perhaps(arbitraryText) }),
    branch: perhaps(arbitraryText),
    revision: arbitraryRevision,
    translations: perhaps(fc.array(arbitraryText, { minLength: 1, maxLength: 2 })),
    span: fc.constant(span),
  }),
  fc.record({
    kind: fc.constant('translate' as const),
    workspace: arbitraryWorkspace,
    locale: arbitraryText,
    branch: perhaps(arbitraryText),
    values: fc.array(fc.record({ path: translatedPath, value: arbitraryValue, span: fc.constant(span) }), {
      minLength: 1,
      maxLength: 2,
    }),
    node: perhaps(reference),
    nodeType: perhaps(arbitraryText),
    span: fc.constant(span),
  }),
);
